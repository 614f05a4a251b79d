#pragma once

#include "coordination/store.hpp"
#include "storage/replica_set.hpp"

#include <optional>
#include <string>

namespace lycosa::cluster {

/// What a node's directory must be like, and is made into, when the node joins a cluster.
struct join_config {
  std::string dir;
  std::string cluster;
  std::uint16_t shards = 0; ///< of a new cluster; 0 = default
  std::uint64_t map_size = 0;
  bool sync = true;
};

/// Who the node is, by its directory; a new one is given a number. `incompatible`: the directory is
/// of another cluster.
result<storage::cluster_mark> identify(const join_config& c);

/// How many shards a cluster has that this node founds: those of the data that the directory holds,
/// which is opened for it and brought to the current format.
result<std::uint16_t> shards_to_found(const join_config& c);

/// The facts of a cluster that this node founds: its number is the cluster's name for ever.
coordination::cluster_facts facts_to_found(const storage::cluster_mark& mark, std::uint16_t shards);

/// Opens the replicas after the coordination store has said what the cluster is. A founder's data
/// is adopted, made if there is none; others begin empty. `incompatible`: the directory has data of
/// its own that the cluster does not know, or is of a cluster that was there before.
result<std::shared_ptr<storage::replica_set>> join(const join_config& c, storage::cluster_mark& mark,
                                                   const coordination::cluster_facts& facts);

} // namespace lycosa::cluster
