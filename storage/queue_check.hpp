#pragma once

#include "storage/lmdb_shard.hpp"

#include <functional>
#include <string>

namespace lycosa::storage {

/// Compares the queues that are kept in order with `active`, within one snapshot: each entry is
/// that of an ACTIVE task, at the place it has, of a project that has a row; and each ACTIVE task
/// that has been taken in has its entry. Errors are LMDB's; what does not fit goes to `problem`.
int check_queues(const lmdb_shard& shard, MDB_txn* txn,
                 const std::function<void(const std::string&)>& problem);

} // namespace lycosa::storage
