#pragma once

#include "storage/lmdb_env.hpp"
#include "storage/replica_state.hpp"
#include "storage/replica_store.hpp"

#include <atomic>

namespace lycosa::storage {

/// Rows of the table `replica`: the log's batches and the state behind them.
namespace replica_rows {

/// Adds the rows of one batch behind those that are there.
int append(MDB_txn* txn, MDB_dbi table, cluster::entry_id id, std::string_view changes);
/// Removes rows of batches up to this one, at most `rows` of them.
int trim(MDB_txn* txn, MDB_dbi table, cluster::lsn_number through, std::size_t rows);
/// Removes all batches.
int clear(MDB_txn* txn, MDB_dbi table);
int put_state(MDB_txn* txn, MDB_dbi table, const replica_state& s);
/// None = there is no state: the environment never was a replica.
result<std::optional<replica_state>> get_state(MDB_txn* txn, MDB_dbi table, std::string_view name);
/// The first batch's position and the sizes of all, or the end's if there is none.
result<cluster::shard_log> load(MDB_txn* txn, MDB_dbi table, const replica_state& s,
                                std::string_view name);
/// Batches from `first` on, up to `limit` bytes, at least one if it is there.
result<std::vector<batch_bytes>> read(MDB_txn* txn, MDB_dbi table, cluster::lsn_number first,
                                      std::size_t limit, std::string_view name);

} // namespace replica_rows

/// A view of an environment, cut into pieces. `tables`: so many, from the first on.
result<std::unique_ptr<replica_store::copy>> cut_copy(lmdb::env& env, std::size_t tables,
                                                      MDB_dbi replica, std::size_t chunk_bytes);

} // namespace lycosa::storage
