#pragma once

#include "core/cluster/shard_replica.hpp"
#include "storage/replica_state.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::storage {

namespace lmdb {
class env;
}

/// Changes of one commit, to be shipped; never changes once shared.
using batch_bytes = std::shared_ptr<const std::string>;

/// Makes commits count on more than one disk: the leader of a replicated environment. Called by
/// whoever writes the environment, a commit at a time.
class commit_gate {
public:
  virtual ~commit_gate() = default;
  /// A commit is about to be written. The position it gets, or why it may not: `unavailable`.
  virtual result<cluster::entry_id> begin(batch_bytes changes) = 0;
  /// Whether it is on this disk.
  virtual void written(cluster::entry_id id, bool ok) = 0;
  /// Waits until it is on every member's disk. `unavailable`: nobody knows whether it will be kept.
  virtual result<void> settled(cluster::entry_id id) = 0;
};

struct replica_options {
  std::string dir;      ///< of the environment; exists
  bool catalog = false; ///< else a shard
  std::uint64_t map_size = 0;
  bool sync = true;
};

/// One replicated environment on a node's disk: its tables, and the log of the commits that made
/// them what they are. FORMAT.md has the layout.
///
/// On a follower this class makes all changes. On a leader the environment's own store (lmdb_shard,
/// lmdb_catalog) makes them, and each of its commits goes through the gate and into the log.
///
/// One thread at a time changes it; `read` and `open_copy` may be called from others.
class replica_store {
public:
  static result<std::unique_ptr<replica_store>> open(const replica_options& options);
  virtual ~replica_store() = default;

  /// What is on disk: for a `cluster::shard_replica` to begin with.
  virtual result<cluster::shard_replica::found> found() = 0;

  /// The environment was a single node's until now: what it holds becomes position 1 of epoch 0, of
  /// which there is no batch, so that whoever has less is copied.
  virtual result<void> adopt() = 0;

  /// The environment is a single node's from now on: nothing is known of a log.
  virtual result<void> forget() = 0;

  // -- a follower's changes; each is one commit ---
  struct batch {
    cluster::entry_id id;
    std::string_view changes;
  };
  virtual result<void> append(std::span<const batch> batches) = 0;
  /// Throws everything away but the log's name, and notes that a copy is being made.
  virtual result<void> discard(const cluster::copy_progress& begun) = 0;
  /// Keeps the next piece of a copy. `whole`: it is the last; of the log's history up to the copy.
  virtual result<void> write_chunk(std::string_view changes,
                                   const std::vector<cluster::epoch_start>* whole) = 0;

  /// Batches up to here are not needed; they go with the next commits.
  virtual void trim(cluster::lsn_number through) = 0;

  // -- a leader's ---
  /// From now on commits of the environment's own store go through the gate.
  virtual void lead(commit_gate& gate) = 0;
  virtual void follow() = 0;
  /// Batches `first` … as far as they are there, up to `limit` bytes, at least one.
  virtual result<std::vector<batch_bytes>> read(cluster::lsn_number first, std::size_t limit) = 0;

  /// A view of the environment that stays as it is, cut into pieces.
  class copy {
  public:
    virtual ~copy() = default;
    [[nodiscard]] virtual cluster::entry_id at() const = 0;
    [[nodiscard]] virtual std::uint32_t chunks() const = 0; ///< ≥ 1
    virtual result<std::string> chunk(std::uint32_t i) = 0;
  };
  /// Walks over all keys, to cut them into pieces of about `chunk_bytes`.
  virtual result<std::unique_ptr<copy>> open_copy(std::size_t chunk_bytes) = 0;

  /// For the environment's own store.
  [[nodiscard]] virtual std::shared_ptr<lmdb::env> env() const = 0;
};

} // namespace lycosa::storage
