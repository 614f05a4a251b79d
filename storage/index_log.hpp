#pragma once

#include "storage/index_buffer.hpp"
#include "storage/lmdb_env.hpp"

#include <cstdint>

namespace lycosa::storage {

/// Puts what the log says of the index from record `from` to record `last` into the buffer.
/// Applied again to entries that are in their places already it changes nothing: of each entry the
/// newest state counts, and the log from `from` on has it. `corrupt` when a record is missing or
/// does not decode.
result<void> replay_index(MDB_txn* txn, MDB_dbi log, std::string_view name, std::uint64_t from,
                          std::uint64_t last, index_buffer& into);

/// The table `index` of formats up to 4, keyed by project and hash, becomes `hashes`: range by
/// range of the new keys, so that these are appended, a commit each. Cut off, it begins again. The
/// old table is left as it is.
result<void> copy_old_index(lmdb::env& env, MDB_dbi hashes);

/// Part of the transaction that makes the format the new one: removes the old table.
int drop_old_index(MDB_txn* txn);

} // namespace lycosa::storage
