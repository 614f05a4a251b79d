#pragma once

#include "core/cluster/group_plan.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

/// Where the groups of a cluster belong when there are several: which nodes keep each, and which of
/// those leads it and so runs its scheduler.
namespace lycosa::cluster {

/// A group as its records tell it, and what operators wish.
struct group_place {
  std::map<std::string, shard_record> records; ///< of its environments; none = not founded
  node_id wished = node_id::none;              ///< who should lead it; none = whoever is best
};

/// What to propose now for all groups together, at most one change for each environment. `missed`:
/// nodes that have gone a moment ago and may come back: they keep their places, but lead nothing.
///
/// - A group alone, and one whose leader is wished, goes by the rules of `plan_group`.
/// - The others are spread by `plan_moves`: as many copies as wished in different failure domains,
///   then as many leaderships on each node as on the next, then as many copies. One leadership
///   and two copies are under way at a time, so that a node that joins is filled step by step.
/// - Whoever has taken over from a node that has gone comes first in its group: it does not give
///   the leadership back when that node returns, unless that evens the load.
[[nodiscard]] std::map<std::string, shard_record>
plan_groups(const std::vector<group_place>& groups, const std::vector<group_candidate>& living,
            const std::set<node_id>& missed, const group_goal& goal);

} // namespace lycosa::cluster
