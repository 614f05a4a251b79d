#include "core/cluster/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace lycosa::cluster {
namespace {

std::vector<placement::member> members(std::uint64_t from, std::uint64_t to) {
  std::vector<placement::member> all;
  for (auto n = from; n <= to; ++n)
    all.push_back({node_id{n}, 1});
  return all;
}

std::string project(int n) {
  return "project_" + std::to_string(n);
}

TEST(cluster_placement, without_nodes_nobody_has_a_project) {
  EXPECT_EQ(placement{}.owner("a"), node_id::none);
  EXPECT_TRUE(placement{}.owners("a", 3).empty());
  EXPECT_EQ(placement({{node_id{1}, 0}}).owner("a"), node_id::none);
}

TEST(cluster_placement, is_the_same_on_every_machine_and_in_every_version) {
  const placement p{members(1, 7)};
  const std::vector<std::uint64_t> expected{1, 5, 6, 1, 2, 2, 2, 4, 6, 4, 3, 7};
  std::vector<std::uint64_t> found;
  for (int n = 0; n < 12; ++n)
    found.push_back(static_cast<std::uint64_t>(p.owner(project(n))));
  EXPECT_EQ(found, expected);
}

TEST(cluster_placement, does_not_depend_on_the_order_or_doubling_of_members) {
  auto turned = members(1, 9);
  std::reverse(turned.begin(), turned.end());
  turned.push_back({node_id{3}, 1});
  const placement a{members(1, 9)}, b{turned};
  for (int n = 0; n < 500; ++n)
    EXPECT_EQ(a.owner(project(n)), b.owner(project(n)));
}

TEST(cluster_placement, shares_are_even) {
  constexpr int nodes = 20, projects = 20'000;
  const placement p{members(1, nodes)};
  std::map<node_id, int> share;
  for (int n = 0; n < projects; ++n)
    ++share[p.owner(project(n))];
  ASSERT_EQ(share.size(), nodes);
  constexpr double mean = projects / nodes;
  for (const auto& [node, count] : share) // five standard deviations of a fair draw
    EXPECT_NEAR(count, mean, 5 * std::sqrt(mean));
}

TEST(cluster_placement, a_node_that_leaves_moves_its_own_projects_only) {
  const placement before{members(1, 20)}, after{members(2, 20)};
  std::map<node_id, int> heirs;
  for (int n = 0; n < 5'000; ++n) {
    const auto was = before.owner(project(n)), is = after.owner(project(n));
    if (was != node_id{1})
      EXPECT_EQ(was, is);
    else
      ++heirs[is];
  }
  EXPECT_GT(heirs.size(), 15U) << "they go to everyone, not to a neighbour";
}

TEST(cluster_placement, a_node_that_joins_takes_its_share_and_nothing_else_moves) {
  const placement before{members(1, 19)}, after{members(1, 20)};
  int moved = 0;
  for (int n = 0; n < 10'000; ++n) {
    const auto was = before.owner(project(n)), is = after.owner(project(n));
    if (was == is) continue;
    EXPECT_EQ(is, node_id{20});
    ++moved;
  }
  EXPECT_NEAR(moved, 500, 5 * std::sqrt(500.0));
}

TEST(cluster_placement, shares_follow_weights_and_a_change_of_one_moves_its_projects_only) {
  auto all = members(1, 8);
  all[2].weight = 3;
  const placement p{all};
  all[2].weight = 2;
  const placement q{all};
  int third = 0;
  for (int n = 0; n < 10'000; ++n) {
    const auto is = p.owner(project(n));
    third += is == node_id{3} ? 1 : 0;
    EXPECT_TRUE(is == node_id{3} || q.owner(project(n)) == is);
  }
  EXPECT_NEAR(third, 3'000, 5 * std::sqrt(3'000.0));
}

TEST(cluster_placement, the_next_owner_is_who_would_have_it_without_the_first) {
  for (const double weight : {1.0, 2.5}) {
    auto all = members(1, 10);
    all[4].weight = weight;
    const placement p{all};
    for (int n = 0; n < 200; ++n) {
      const auto order = p.owners(project(n), 3);
      ASSERT_EQ(order.size(), 3U);
      auto left = all;
      for (const auto expected : order) {
        EXPECT_EQ(placement{left}.owner(project(n)), expected);
        std::erase_if(left, [&](const auto& m) { return m.node == expected; });
        // Equal weights again would compare another way, with the same result.
      }
    }
  }
  EXPECT_EQ(placement{members(1, 2)}.owners("a", 5).size(), 2U);
}

} // namespace
} // namespace lycosa::cluster
