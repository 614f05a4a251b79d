#pragma once

#include "core/cluster/types.hpp"
#include "core/result.hpp"
#include "storage/replica_store.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lycosa::storage {

/// What a data directory says of the cluster that it belongs to: the file `cluster`.
struct cluster_mark {
  std::string cluster;
  std::string id; ///< of the cluster, as the coordination store has it; empty = has not joined yet
  cluster::node_id node = cluster::node_id::none; ///< drawn once, for this directory
  /// The cluster's; 0 = the node has not joined yet, and whatever the directory holds is its own.
  std::uint16_t shards = 0;
};

/// None = the directory is a single node's, or not there. `corrupt` when it cannot be read.
[[nodiscard]] result<std::optional<cluster_mark>> read_cluster_mark(const std::string& dir);
/// Makes the directory if need be.
[[nodiscard]] result<void> write_cluster_mark(const std::string& dir, const cluster_mark& mark);
/// The directory is a single node's again, with what its copies hold, if they are whole. It must not
/// be in use. `not_found` when it belongs to no cluster.
[[nodiscard]] result<void> leave_cluster(const std::string& dir);
/// A new node's number; never `none`.
[[nodiscard]] result<cluster::node_id> draw_node_id();
/// Whether there are tasks, or a place for them.
[[nodiscard]] bool holds_data(const std::string& dir);
[[nodiscard]] bool holds_shard(const std::string& dir, unsigned shard);

struct replica_set_options {
  std::string dir;
  std::uint16_t shards = 1;
  std::uint64_t map_size = 0; ///< of each shard; 0 = 1 TiB of address space
  bool sync = true;
};

/// The replicas of all environments in a node's data directory: one for each shard, and the
/// catalog's. Holds the directory's lock.
class replica_set {
public:
  /// Makes what is not there, empty: a leader will copy it. Errors as `open_data_dir`.
  static result<std::shared_ptr<replica_set>> open(const replica_set_options& options);
  virtual ~replica_set() = default;

  [[nodiscard]] virtual std::uint16_t shards() const = 0;
  [[nodiscard]] virtual replica_store& shard(std::size_t i) = 0;
  [[nodiscard]] virtual replica_store& catalog() = 0;
};

} // namespace lycosa::storage
