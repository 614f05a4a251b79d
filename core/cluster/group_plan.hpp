#pragma once

#include "core/cluster/shard_record.hpp"
#include "core/cluster/types.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

/// Where the environments of one group belong. A group is led as a whole: the scheduler that works
/// on it needs all of its shards and its catalog in one process, so that nothing but the copying of
/// commits goes over the network. So all its environments have the same replicas, in the same
/// order.
namespace lycosa::cluster {

/// A node that could hold a group.
struct group_candidate {
  node_id node = node_id::none;
  std::string domain; ///< what fails together, e.g. a rack; empty = the node itself
  bool draining = false;
};

struct group_goal {
  std::uint32_t replicas = 3;
  std::uint32_t min_in_sync = 2;
  /// Who should lead; none = whoever does, so that nothing moves without need.
  node_id leader = node_id::none;
};

/// What the leader of the group's first environment should propose, at most one change for each
/// environment. `records`: by name, the first of them decides who leads. `living`: nodes that are
/// there. `missed`: nodes that have gone a moment ago and may come back: they keep their places.
///
/// Rules:
/// - The group has `replicas` replicas on nodes that are not draining, no two in one failure domain
///   while another has room; those that are there stay.
/// - A replica too many goes once all that should be are in sync.
/// - The leader of the first environment comes first everywhere, unless another is wished or it is
///   draining, and that other one is in sync everywhere.
/// - `min_in_sync` of a record follows the goal: up when so many are in sync, down at once.
[[nodiscard]] std::map<std::string, shard_record>
plan_group(const std::map<std::string, shard_record>& records, node_id self,
           const std::vector<group_candidate>& living, const std::set<node_id>& missed,
           const group_goal& goal);

/// What to propose so that all environments have these replicas, in this order, and as many members
/// in sync as `min_in_sync` says; nothing = they have.
[[nodiscard]] std::map<std::string, shard_record>
place_group(const std::map<std::string, shard_record>& records,
            const std::vector<node_id>& replicas, std::uint32_t min_in_sync);

} // namespace lycosa::cluster
