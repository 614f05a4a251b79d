#include "core/cluster/group_spread.hpp"

#include "core/cluster/balancer.hpp"

#include <algorithm>

namespace lycosa::cluster {

namespace {

constexpr std::uint32_t copies_at_a_time = 2;
constexpr std::uint32_t leaders_at_a_time = 1;

bool has(const std::vector<node_id>& nodes, node_id n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

node_id leader_of(const group_place& g) {
  return g.records.begin()->second.leader;
}

/// The group as one shard: in sync is who is so in every environment and can be asked.
shard_place as_shard(std::uint32_t number, const group_place& g, const std::set<node_id>& living) {
  shard_place s{number, g.records.begin()->second.replicas, {}};
  for (const auto n : s.replicas)
    if (living.contains(n) && std::all_of(g.records.begin(), g.records.end(), [&](const auto& r) {
          return r.second.is_in_sync(n);
        }))
      s.in_sync.push_back(n);
  const auto leader = leader_of(g);
  if (!s.replicas.empty() && !living.contains(s.replicas.front()) && has(s.replicas, leader))
    s.replicas = after(s, {move::kind::make_leader, number, leader});
  return s;
}

/// Whether the leaderships are where the records say that they should be.
bool settled(const group_place& g) {
  return std::all_of(g.records.begin(), g.records.end(), [](const auto& r) {
    return !r.second.replicas.empty() && r.second.leader == r.second.replicas.front();
  });
}

} // namespace

std::map<std::string, shard_record> plan_groups(const std::vector<group_place>& groups,
                                                const std::vector<group_candidate>& living,
                                                const std::set<node_id>& missed,
                                                const group_goal& goal) {
  std::map<std::string, shard_record> out;
  std::set<node_id> here;
  std::vector<node_status> nodes;
  for (const auto& c : living) {
    here.insert(c.node);
    nodes.push_back({c.node, c.domain, 1, c.draining});
  }
  for (const auto n : missed)
    if (!here.contains(n)) nodes.push_back({n, "", 1, false});

  std::vector<shard_place> shards;
  balance_goal balance{goal.replicas, copies_at_a_time, leaders_at_a_time};
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const auto& g = groups[i];
    if (g.records.empty()) continue;
    if (groups.size() == 1 || g.wished != node_id::none) {
      auto own = goal;
      own.leader = g.wished;
      out.merge(plan_group(g.records, leader_of(g), living, missed, own));
      continue;
    }
    shards.push_back(as_shard(i, g, here));
    if (!settled(g)) balance.leader_moves = 0; // one after the other
  }
  for (const auto& m : plan_moves(nodes, shards, balance)) {
    const auto s = std::find_if(shards.begin(), shards.end(),
                                [&](const shard_place& p) { return p.shard == m.shard; });
    s->replicas = after(*s, m);
  }
  for (const auto& s : shards)
    out.merge(place_group(groups[s.shard].records, s.replicas, goal.min_in_sync));
  return out;
}

} // namespace lycosa::cluster
