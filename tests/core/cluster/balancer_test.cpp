#include "core/cluster/balancer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace lycosa::cluster {
namespace {

using nodes = std::vector<node_status>;
using places = std::vector<shard_place>;

node_id id(std::uint64_t n) {
  return node_id{n};
}

nodes some(std::uint64_t count, std::uint64_t racks = 0) {
  nodes all;
  for (std::uint64_t n = 1; n <= count; ++n)
    all.push_back({id(n), racks == 0 ? "" : "rack" + std::to_string(n % racks), 1, false});
  return all;
}

places on_one_node(std::uint32_t shards) {
  places all;
  for (std::uint32_t s = 0; s < shards; ++s)
    all.push_back({s, {id(1)}, {id(1)}});
  return all;
}

struct outcome {
  int adds = 0, drops = 0, leader_moves = 0, rounds = 0;
};

/// Carries moves out, at most so many a round, until none is left. What is added is in sync a round
/// later.
outcome settle(const nodes& there, places& shards, const balance_goal& goal,
               std::size_t most = 1000) {
  outcome o;
  for (; o.rounds < 2000; ++o.rounds) {
    auto moves = plan_moves(there, shards, goal);
    if (moves.empty()) return o;
    moves.resize(std::min(moves.size(), most));
    int adds = 0;
    std::vector<std::pair<std::uint32_t, node_id>> filled;
    for (const auto& m : moves) {
      auto& s = shards.at(m.shard);
      if (m.what == move::kind::add_replica) {
        ++adds;
        EXPECT_EQ(std::count(s.replicas.begin(), s.replicas.end(), m.node), 0);
        filled.emplace_back(m.shard, m.node);
      }
      if (m.what == move::kind::make_leader) {
        ++o.leader_moves;
        EXPECT_EQ(std::count(s.in_sync.begin(), s.in_sync.end(), m.node), 1);
      }
      if (m.what == move::kind::drop_replica) {
        ++o.drops;
        EXPECT_NE(s.replicas.front(), m.node) << "the leader is moved first";
        std::erase(s.in_sync, m.node);
      }
      s.replicas = after(s, m);
      EXPECT_FALSE(s.in_sync.empty());
    }
    EXPECT_LE(adds, static_cast<int>(goal.copies));
    o.adds += adds;
    for (const auto& [shard, node] : filled)
      shards.at(shard).in_sync.push_back(node);
  }
  ADD_FAILURE() << "it does not come to an end";
  return o;
}

std::map<node_id, int> held(const places& shards, bool leaders) {
  std::map<node_id, int> count;
  for (const auto& s : shards)
    for (const auto n : s.replicas)
      if (!leaders || n == s.replicas.front()) ++count[n];
  return count;
}

void expect_even(const places& shards, std::uint64_t count) {
  for (const bool leaders : {false, true}) {
    const auto by_node = held(shards, leaders);
    ASSERT_EQ(by_node.size(), count);
    const auto [low, high] = std::minmax_element(
        by_node.begin(), by_node.end(), [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_LE(high->second - low->second, 1) << (leaders ? "leaders" : "replicas");
  }
}

TEST(cluster_balancer, one_node_grows_to_three) {
  auto shards = on_one_node(12);
  const auto o = settle(some(3), shards, {3, 2, 8});
  for (const auto& s : shards)
    EXPECT_EQ(s.replicas.size(), 3U);
  expect_even(shards, 3);
  EXPECT_EQ(o.adds, 24) << "each shard to two more nodes, nothing twice";
  EXPECT_EQ(o.drops, 0);
  EXPECT_LE(o.leader_moves, 12) << "two thirds of the leaders, some of them on the way";
}

TEST(cluster_balancer, what_is_balanced_stays) {
  auto shards = on_one_node(16);
  settle(some(5), shards, {3, 4, 8});
  EXPECT_TRUE(plan_moves(some(5), shards, {3, 4, 8}).empty());
}

TEST(cluster_balancer, a_fourth_node_takes_its_share_and_no_more) {
  auto shards = on_one_node(16);
  settle(some(3), shards, {3, 4, 8});
  const auto o = settle(some(4), shards, {3, 4, 8});
  expect_even(shards, 4);
  EXPECT_EQ(o.adds, 12) << "a quarter of 48 replicas";
  EXPECT_EQ(o.drops, 12);
}

TEST(cluster_balancer, a_dead_node_is_replaced_and_only_what_it_had_moves) {
  auto shards = on_one_node(16);
  settle(some(4), shards, {3, 4, 8});
  auto left = some(4);
  std::erase_if(left, [](const auto& n) { return n.node == id(2); });
  for (auto& s : shards)
    std::erase(s.in_sync, id(2));
  const auto before = held(shards, false).at(id(2));
  const auto o = settle(left, shards, {3, 4, 8});
  expect_even(shards, 3);
  EXPECT_EQ(o.adds, before);
}

TEST(cluster_balancer, a_dead_node_without_a_replacement_is_waited_for) {
  auto shards = on_one_node(6);
  settle(some(3), shards, {3, 4, 8});
  for (auto& s : shards)
    std::erase(s.in_sync, id(3));
  auto o = settle(some(2), shards, {3, 4, 8});
  EXPECT_EQ(o.adds + o.drops, 0);
  for (const auto& s : shards)
    EXPECT_NE(s.replicas.front(), id(3)) << "it does not lead";
  for (auto& s : shards)
    s.in_sync = s.replicas;
  o = settle(some(3), shards, {3, 4, 8});
  EXPECT_EQ(o.adds + o.drops, 0) << "it has its shards again";
  expect_even(shards, 3);
}

TEST(cluster_balancer, a_drained_node_ends_empty_and_is_kept_until_others_have_what_it_had) {
  auto shards = on_one_node(16);
  settle(some(4), shards, {3, 2, 8});
  auto there = some(4);
  there[0].draining = true;
  for (int round = 0; round < 500; ++round) {
    const auto moves = plan_moves(there, shards, {3, 2, 8});
    if (moves.empty()) break;
    for (const auto& m : moves) {
      auto& s = shards[m.shard];
      s.replicas = after(s, m);
      if (m.what == move::kind::add_replica) s.in_sync.push_back(m.node);
      if (m.what == move::kind::drop_replica) std::erase(s.in_sync, m.node);
      EXPECT_GE(s.in_sync.size(), 3U);
    }
  }
  expect_even(shards, 3);
  EXPECT_FALSE(held(shards, false).contains(id(1)));
}

TEST(cluster_balancer, draining_one_of_three_leaves_two_replicas) {
  auto shards = on_one_node(6);
  settle(some(3), shards, {3, 2, 8});
  auto there = some(3);
  there[1].draining = true;
  settle(there, shards, {3, 2, 8});
  expect_even(shards, 2);
}

TEST(cluster_balancer, the_number_of_replicas_can_change) {
  auto shards = on_one_node(10);
  settle(some(5), shards, {3, 4, 8});
  settle(some(5), shards, {2, 4, 8});
  for (const auto& s : shards)
    EXPECT_EQ(s.replicas.size(), 2U);
  expect_even(shards, 5);
  settle(some(5), shards, {4, 4, 8});
  for (const auto& s : shards)
    EXPECT_EQ(s.replicas.size(), 4U);
  expect_even(shards, 5);
}

TEST(cluster_balancer, replicas_are_in_different_failure_domains_where_there_are_enough) {
  auto shards = on_one_node(12);
  settle(some(6, 3), shards, {3, 4, 8});
  const auto racks = [](const shard_place& s, std::uint64_t count) {
    std::set<std::uint64_t> found;
    for (const auto n : s.replicas)
      found.insert(static_cast<std::uint64_t>(n) % count);
    return found.size();
  };
  for (const auto& s : shards)
    EXPECT_EQ(racks(s, 3), 3U);
  expect_even(shards, 6);
  // The racks turn out to be others: replicas that now share one are moved apart.
  settle(some(6, 6), shards, {3, 4, 8});
  settle(some(6, 2), shards, {3, 4, 8});
  for (const auto& s : shards) {
    EXPECT_EQ(s.replicas.size(), 3U) << "two racks for three replicas";
    EXPECT_EQ(racks(s, 2), 2U);
  }
}

TEST(cluster_balancer, nothing_more_is_begun_while_enough_is_being_filled) {
  auto shards = on_one_node(8);
  shards[0].replicas = {id(1), id(2)};
  shards[1].replicas = {id(1), id(3)};
  for (const auto& m : plan_moves(some(3), shards, {3, 2, 8}))
    EXPECT_NE(m.what, move::kind::add_replica);
}

TEST(cluster_balancer, heavier_nodes_hold_more) {
  auto shards = on_one_node(40);
  auto there = some(4);
  there[3].weight = 2;
  settle(there, shards, {2, 8, 8});
  const auto by_node = held(shards, false);
  EXPECT_EQ(by_node.at(id(4)), 32) << "two fifths of 80";
  EXPECT_EQ(by_node.at(id(2)), 16);
}

TEST(cluster_balancer, comes_to_an_end_from_anywhere) {
  std::mt19937 random{5};
  for (int day = 0; day < 60; ++day) {
    const auto count = 3 + random() % 6;
    auto there = some(count, random() % 3 == 0 ? 0 : 2 + random() % 3);
    for (auto& n : there) {
      n.weight = random() % 4 == 0 ? 2 : 1;
      n.draining = random() % 6 == 0;
    }
    places shards;
    for (std::uint32_t s = 0; s < 20; ++s) {
      std::set<node_id> on;
      for (auto k = 1 + random() % 4; k > 0; --k)
        on.insert(id(1 + random() % (count + 1))); // one of them is dead
      shard_place p{s, {on.begin(), on.end()}, {}};
      std::shuffle(p.replicas.begin(), p.replicas.end(), random);
      for (const auto n : p.replicas)
        if (n != id(count + 1) && random() % 5 != 0) p.in_sync.push_back(n);
      if (p.in_sync.empty()) {
        p.replicas = {id(1)};
        p.in_sync = {id(1)};
      }
      shards.push_back(p);
    }
    for (auto& s : shards) // the slow ones catch up
      for (const auto n : s.replicas)
        if (n != id(count + 1) && std::count(s.in_sync.begin(), s.in_sync.end(), n) == 0)
          s.in_sync.push_back(n);
    // Also when another change comes between any two moves.
    const auto most = random() % 2 == 0 ? 1000 : 1;
    settle(there, shards, {1 + static_cast<std::uint32_t>(random() % 3), 3, 4}, most);
  }
}

} // namespace
} // namespace lycosa::cluster
