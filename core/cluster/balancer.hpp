#pragma once

#include "core/cluster/types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lycosa::cluster {

/// A node as the balancer sees it.
struct node_status {
  node_id node = node_id::none;
  std::string domain;    ///< what fails together, e.g. a rack; empty = the node itself
  double weight = 1;     ///< its share of the shards, relative to others
  bool draining = false; ///< to be emptied
};

/// Where a shard is: from its record.
struct shard_place {
  std::uint32_t shard = 0;
  std::vector<node_id> replicas; ///< the first leads, or will
  std::vector<node_id> in_sync;
};

struct move {
  enum class kind : std::uint8_t {
    add_replica,  ///< behind the others
    drop_replica, ///< never the last that is in sync
    make_leader,  ///< a replica that is in sync comes first
  };
  kind what = kind::add_replica;
  std::uint32_t shard = 0;
  node_id node = node_id::none;
  friend bool operator==(const move&, const move&) = default;
};

struct balance_goal {
  std::uint32_t replicas = 3;
  std::uint32_t copies = 2;       ///< replicas being filled at a time, in the whole cluster
  std::uint32_t leader_moves = 8; ///< at a time
};

/// What to change now, in this order, to come closer to the goal; nothing = it is reached, or what
/// was begun has to end first. Called again with what has become of it. Nodes that are not in
/// `nodes` are dead: a node should be missing for a while before it is left out.
///
/// Rules, the more urgent first:
/// 1. Every shard has as many replicas on nodes that are there and not draining, no two in one
///    failure domain while another domain has room. A missing one goes to the least loaded node.
/// 2. A replica too many is dropped once enough others are in sync: first of dead nodes, then of
///    draining ones, then one that shares a domain, then the one on the most loaded node.
/// 3. A replica is moved between nodes only if that makes the two more equal, a leadership
///    likewise (along a chain of shards if need be): so it comes to an end.
/// A move of a replica is an add and, when that one is in sync, a drop. The result depends on the
/// arguments only. O(shards · nodes).
[[nodiscard]] std::vector<move> plan_moves(const std::vector<node_status>& nodes,
                                           const std::vector<shard_place>& shards,
                                           const balance_goal& goal);

/// The replicas of a shard after a move of it.
[[nodiscard]] std::vector<node_id> after(const shard_place& place, const move& m);

} // namespace lycosa::cluster
