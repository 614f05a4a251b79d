#pragma once

#include "storage/lmdb_env.hpp"

#include <array>
#include <cstdint>
#include <optional>

/// What every environment says of itself in its table `meta`.
namespace lycosa::storage {

/// Version of the layout that this code writes. It reads this one; see FORMAT.md, "Versions".
inline constexpr std::uint32_t format_version = 6;
/// Before it, a shard's `index` was written in place and keyed by project first.
inline constexpr std::uint32_t format_of_hashes = 5;
/// Before it, no queue was kept in order: shards lack `queue` and `ordering`.
inline constexpr std::uint32_t format_of_queue = 6;

enum class env_kind : std::uint32_t { shard = 1, catalog = 2 };

/// Random name of a data directory, so that a shard of another one is not taken for its own.
using directory_id = std::array<std::uint8_t, 16>;

struct identity {
  std::uint32_t format = format_version;
  env_kind kind = env_kind::shard;
  directory_id directory{};
  std::uint16_t shard = 0; ///< 0 for the catalog
  std::uint16_t shards = 0;
  std::uint64_t epoch = 0; ///< +1 with each opening for writing
};

/// Reads the identity without writing. `corrupt` when there is none, `incompatible` for a newer
/// format.
result<identity> read_identity(lmdb::env& env);

/// Puts the identity into an open transaction.
result<void> write_identity(lmdb::env& env, MDB_txn* txn, const identity& id);

/// Puts the epoch alone.
result<void> write_epoch(lmdb::env& env, MDB_txn* txn, std::uint64_t epoch);

} // namespace lycosa::storage
