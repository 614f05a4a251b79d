#pragma once

#include "storage/index_buffer.hpp"
#include "storage/lmdb_env.hpp"

#include <cstdint>

namespace lycosa::storage {

/// Does again with the buffer what the commits of log records `from` to `last` did: takes in their
/// changes and drops the slices they merged. Returns the slice whose turn it is. `corrupt` when a
/// record is missing or does not decode.
result<std::size_t> replay_index(MDB_txn* txn, MDB_dbi log, std::string_view name,
                                 std::uint64_t from, std::uint64_t last, index_buffer& into);

/// The table `index` of formats up to 4, keyed by project and hash, becomes `hashes`: range by
/// range of the new keys, so that these are appended, a commit each. Cut off, it begins again. The
/// old table is left as it is.
result<void> copy_old_index(lmdb::env& env, MDB_dbi hashes);

/// Part of the transaction that makes the format the new one: removes the old table.
int drop_old_index(MDB_txn* txn);

} // namespace lycosa::storage
