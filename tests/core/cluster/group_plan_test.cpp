#include "core/cluster/group_plan.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

constexpr node_id a{1}, b{2}, c{3}, d{4};
using nodes = std::vector<node_id>;

class cluster_group_plan : public testing::Test {
protected:
  cluster_group_plan() {
    for (const auto* name : {"catalog", "shard-000"})
      records[name] = {1, a, session_id{1}, {a}, {a}, 1, 5};
  }
  void everywhere(nodes replicas, nodes in_sync) {
    for (auto& [name, r] : records) {
      r.replicas = replicas;
      r.in_sync = in_sync;
    }
  }
  std::map<std::string, shard_record> plan(node_id self = a) {
    return plan_group(records, self, living, missed, goal);
  }
  /// What both environments' replicas are to be; empty = no change.
  nodes replicas(node_id self = a) {
    const auto p = plan(self);
    if (p.empty()) return {};
    EXPECT_EQ(p.size(), 2U);
    EXPECT_EQ(p.at("catalog").replicas, p.at("shard-000").replicas);
    return p.at("catalog").replicas;
  }

  std::map<std::string, shard_record> records;
  std::vector<group_candidate> living{{a, "", false}, {b, "", false}, {c, "", false}};
  std::set<node_id> missed;
  group_goal goal;
};

TEST_F(cluster_group_plan, grows_to_as_many_replicas_as_wished) {
  EXPECT_EQ(replicas(), (nodes{a, b, c}));
  goal.replicas = 2;
  EXPECT_EQ(replicas(), (nodes{a, b}));
}

TEST_F(cluster_group_plan, says_nothing_when_all_is_as_it_should_be) {
  everywhere({a, b, c}, {a, b, c});
  for (auto& [name, r] : records)
    r.min_in_sync = 2;
  EXPECT_TRUE(plan().empty());
}

TEST_F(cluster_group_plan, asks_for_more_in_sync_only_when_they_are) {
  everywhere({a, b, c}, {a});
  EXPECT_TRUE(plan().empty());
  everywhere({a, b, c}, {a, b});
  EXPECT_EQ(plan().at("catalog").min_in_sync, 2U);
  everywhere({a, b, c}, {a, b, c});
  for (auto& [name, r] : records)
    r.min_in_sync = 3;
  EXPECT_EQ(plan().at("shard-000").min_in_sync, 2U);
}

TEST_F(cluster_group_plan, spreads_over_failure_domains_while_there_are_enough) {
  living = {{a, "r1", false}, {b, "r1", false}, {c, "r2", false}, {d, "r3", false}};
  EXPECT_EQ(replicas(), (nodes{a, c, d}));
  living = {{a, "r1", false}, {b, "r1", false}, {c, "r2", false}};
  EXPECT_EQ(replicas(), (nodes{a, c, b}));
}

TEST_F(cluster_group_plan, whoever_takes_over_comes_first_and_stays) {
  everywhere({a, b, c}, {b, c});
  living = {{b, "", false}, {c, "", false}};
  missed = {a};
  for (auto& [name, r] : records)
    r.leader = b;
  EXPECT_EQ(replicas(b), (nodes{b, a, c}));
}

TEST_F(cluster_group_plan, a_node_that_stays_away_is_replaced_and_dropped_when_the_new_one_is_in_sync) {
  living = {{a, "", false}, {b, "", false}, {d, "", false}};
  everywhere({a, b, c}, {a, b});
  missed = {c};
  for (auto& [name, r] : records)
    r.min_in_sync = 2;
  EXPECT_TRUE(plan().empty()) << "it may come back";
  missed = {};
  EXPECT_EQ(replicas(), (nodes{a, b, d, c}));
  everywhere({a, b, d, c}, {a, b, d});
  EXPECT_EQ(replicas(), (nodes{a, b, d}));
}

TEST_F(cluster_group_plan, a_draining_leader_gives_way_to_one_that_is_in_sync_everywhere) {
  everywhere({a, b, c}, {a, b, c});
  records["shard-000"].in_sync = {a, c};
  living[0].draining = true;
  living.push_back({d, "", false});
  EXPECT_EQ(plan().at("catalog").replicas.front(), c);
  records["shard-000"].in_sync = {a};
  EXPECT_EQ(plan().at("catalog").replicas.front(), a) << "nobody could take over";
}

TEST_F(cluster_group_plan, a_wished_leader_comes_first_once_it_is_in_sync_everywhere) {
  everywhere({a, b, c}, {a, b, c});
  goal.leader = c;
  records["shard-000"].in_sync = {a, b};
  EXPECT_NE(plan().at("catalog").replicas.front(), c);
  records["shard-000"].in_sync = {a, b, c};
  EXPECT_EQ(replicas().front(), c);
}

TEST_F(cluster_group_plan, environments_that_disagree_follow_the_first) {
  everywhere({a, b, c}, {a, b, c});
  for (auto& [name, r] : records)
    r.min_in_sync = 2;
  records["shard-000"].replicas = {b, a, c};
  records["shard-000"].leader = b;
  const auto p = plan();
  ASSERT_EQ(p.size(), 1U);
  EXPECT_EQ(p.at("shard-000").replicas, (nodes{a, b, c}));
}

} // namespace
} // namespace lycosa::cluster
