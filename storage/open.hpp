#pragma once

#include "storage/catalog.hpp"
#include "storage/store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::storage {

class replica_set;

struct open_options {
  std::string dir;
  std::uint16_t shards = 0;   ///< of a new directory; an old one must match. 0 = what is there, or
                              ///< one for each core, 4 at most
  std::uint64_t map_size = 0; ///< bytes a shard may grow to; 0 = 1 TiB of address space
  bool sync = true;           ///< false: a power cut may take the last commit of each shard
  /// Held back of map and disk to finish work when they are full; at most 1/8 of the map (at least
  /// 96 pages) and 1/16 of the file system.
  std::uint64_t reserve_bytes = std::uint64_t{64} << 20;
  /// Of mutations kept a shard, besides those the index needs; 0 = none.
  std::uint64_t log_bytes = std::uint64_t{16} << 20;
  /// Changes of a shard's index held in memory, about and at most: a 16th of its tasks or 16384,
  /// whichever is more, up to this many. 60 to 100 bytes each.
  std::size_t index_buffer = 1'000'000;
  bool create = true;     ///< make the directory if it is not there
  bool read_only = false; ///< no lock taken and nothing written; a node may be running on it
  /// Open replicas of all environments of `dir`, which this node leads: they are used, and commits
  /// go through their gates. Null = the directory is this process's alone.
  std::shared_ptr<replica_set> replicas = nullptr;
};

/// An open data directory. Stores must not outlive it.
struct data_dir {
  /// Held until everything else is closed: the lock of the directory.
  std::shared_ptr<void> lock;
  std::string dir; ///< empty = in memory
  std::vector<std::unique_ptr<shard_store>> shards;
  std::unique_ptr<catalog_store> catalog;

  /// One file of a backup: its path within the directory and what writes a consistent, compacted
  /// copy of it to a file descriptor. In the order in which they are to be copied.
  struct copy {
    std::string path;
    std::function<result<void>(int fd)> write;
  };
  std::vector<copy> copies;

  data_dir() = default;
  data_dir(const data_dir&) = delete;
  data_dir& operator=(const data_dir&) = delete;
  ~data_dir() {
    copies.clear();
    catalog.reset();
    shards.clear();
  }
};

/// `shard-000` …: the folder of a shard, and its name elsewhere.
[[nodiscard]] std::string shard_name(unsigned shard);

/// Bytes of address space that a shard's map takes if nobody said how many.
inline constexpr std::uint64_t default_map = std::uint64_t{1} << 40;

/// Shards of a new directory for which nobody said how many.
[[nodiscard]] std::uint16_t default_shards();

/// Opens a directory (FORMAT.md) with LMDB. Errors are one line and leave everything untouched:
/// `incompatible` (in use by another process, another number of shards, a newer format, a shard of
/// another directory), `corrupt` (missing, cut-off or foreign file), `io_error` (permissions, not a
/// directory), `not_found` (nothing there and `create` is off).
result<std::unique_ptr<data_dir>> open_data_dir(const open_options& options);

/// Stores that vanish with the process. `shards` = 0: one for each core, 4 at most.
std::unique_ptr<data_dir> open_memory(std::uint16_t shards);

} // namespace lycosa::storage
