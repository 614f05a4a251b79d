#include "core/cluster/group_spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lycosa::cluster {
namespace {

constexpr node_id a{1}, b{2}, c{3}, d{4};
using nodes = std::vector<node_id>;

/// A cluster whose nodes do what is proposed: copies are in sync a step later, leaderships move
/// when the one wished is in sync everywhere, the dead are replaced by a member of the set.
class cluster_group_spread : public testing::Test {
protected:
  void found(std::size_t count, node_id by = a) {
    for (std::size_t g = 0; g < count; ++g) {
      group_place p;
      for (const auto* name : {"catalog", "shard-000"})
        p.records["g" + std::to_string(g) + "." + name] = {1, by, session_id{1}, {by}, {by}, 1, 5};
      groups.push_back(p);
    }
  }
  bool is_living(node_id n) const {
    return std::any_of(living.begin(), living.end(), [&](const auto& m) { return m.node == n; });
  }
  std::map<std::string, shard_record> plan() const {
    return plan_groups(groups, living, missed, goal);
  }

  /// One round; false = nothing was proposed and nothing happened.
  bool step() {
    bool moved = false;
    const auto proposed = plan();
    for (auto& g : groups)
      for (auto& [name, r] : g.records) {
        const auto before = r;
        if (const auto p = proposed.find(name); p != proposed.end()) {
          r.replicas = p->second.replicas;
          r.min_in_sync = p->second.min_in_sync;
        }
        live(g, r);
        moved = moved || r != before;
      }
    return moved;
  }
  void settle() {
    for (int i = 0; i < 1000; ++i)
      if (!step()) return;
    FAIL() << "it does not come to an end";
  }

  std::map<node_id, int> led() const {
    std::map<node_id, int> out;
    for (const auto& g : groups) {
      const auto leader = g.records.begin()->second.leader;
      for (const auto& [name, r] : g.records)
        EXPECT_EQ(r.leader, leader) << name;
      ++out[leader];
    }
    return out;
  }
  std::map<node_id, int> kept() const {
    std::map<node_id, int> out;
    for (const auto& g : groups)
      for (const auto n : g.records.begin()->second.replicas)
        ++out[n];
    return out;
  }
  void kill(node_id n) {
    std::erase_if(living, [&](const auto& m) { return m.node == n; });
  }
  void drain(node_id n) {
    for (auto& m : living)
      if (m.node == n) m.draining = true;
  }

  std::vector<group_place> groups;
  std::vector<group_candidate> living{{a, "", false}, {b, "", false}, {c, "", false}};
  std::set<node_id> missed;
  group_goal goal;

private:
  void live(const group_place& g, shard_record& r) {
    std::erase_if(r.in_sync, [&](node_id n) {
      return n != r.leader && !r.is_replica(n) && r.in_sync.size() > r.min_in_sync;
    });
    if (!is_living(r.leader)) {
      const auto next =
          std::find_if(r.in_sync.begin(), r.in_sync.end(), [&](node_id n) { return is_living(n); });
      r.leader = next == r.in_sync.end() ? node_id::none : *next;
      return;
    }
    for (const auto n : r.replicas)
      if (is_living(n) && !r.is_in_sync(n)) {
        r.in_sync.push_back(n);
        std::sort(r.in_sync.begin(), r.in_sync.end());
      }
    std::erase_if(r.in_sync, [&](node_id n) { return !is_living(n) && r.in_sync.size() > 2; });
    const auto first = r.replicas.front();
    if (is_living(first) && std::all_of(g.records.begin(), g.records.end(), [&](const auto& other) {
          return other.second.is_in_sync(first);
        }))
      r.leader = first;
  }
};

TEST_F(cluster_group_spread, a_founder_shares_what_it_leads) {
  found(6);
  settle();
  EXPECT_EQ(led(), (std::map<node_id, int>{{a, 2}, {b, 2}, {c, 2}}));
  EXPECT_EQ(kept(), (std::map<node_id, int>{{a, 6}, {b, 6}, {c, 6}}));
  for (const auto& g : groups)
    for (const auto& [name, r] : g.records)
      EXPECT_EQ(r.min_in_sync, 2U) << name;
}

TEST_F(cluster_group_spread, a_group_alone_stays_with_whoever_leads_it) {
  found(1, b);
  settle();
  EXPECT_EQ(led(), (std::map<node_id, int>{{b, 1}}));
}

TEST_F(cluster_group_spread, one_leadership_moves_at_a_time) {
  found(6);
  for (int i = 0; i < 100; ++i) {
    const auto before = led();
    if (!step()) break;
    auto after = led();
    int moved = 0;
    for (const auto& [n, count] : before)
      moved += std::max(0, count - after[n]);
    EXPECT_LE(moved, 1);
  }
}

TEST_F(cluster_group_spread, a_node_that_joins_is_given_its_share) {
  found(8);
  settle();
  living.push_back({d, "", false});
  settle();
  EXPECT_EQ(led(), (std::map<node_id, int>{{a, 2}, {b, 2}, {c, 2}, {d, 2}}));
  EXPECT_EQ(kept(), (std::map<node_id, int>{{a, 6}, {b, 6}, {c, 6}, {d, 6}}));
}

TEST_F(cluster_group_spread, others_take_over_and_the_load_is_even_again_when_it_is_back) {
  found(6);
  settle();
  kill(b);
  missed = {b};
  settle();
  EXPECT_EQ(led(), (std::map<node_id, int>{{a, 3}, {c, 3}}));
  EXPECT_EQ(kept(), (std::map<node_id, int>{{a, 6}, {b, 6}, {c, 6}})); // its places are kept
  living.push_back({b, "", false});
  missed = {};
  settle();
  EXPECT_EQ(led(), (std::map<node_id, int>{{a, 2}, {b, 2}, {c, 2}}));
}

TEST_F(cluster_group_spread, a_node_that_is_missed_is_given_no_leadership) {
  found(6);
  settle();
  kill(b);
  missed = {b};
  for (int i = 0; i < 20; ++i) {
    step();
    for (const auto& [name, r] : plan())
      EXPECT_NE(r.replicas.front(), b) << name;
  }
}

TEST_F(cluster_group_spread, a_drained_node_ends_up_with_nothing) {
  living.push_back({d, "", false});
  found(8);
  settle();
  drain(a);
  settle();
  EXPECT_FALSE(led().contains(a));
  EXPECT_FALSE(kept().contains(a));
}

TEST_F(cluster_group_spread, a_wish_holds_and_the_others_even_the_rest) {
  found(6);
  groups[0].wished = c;
  groups[1].wished = c;
  settle();
  EXPECT_EQ(groups[0].records.begin()->second.leader, c);
  EXPECT_EQ(groups[1].records.begin()->second.leader, c);
}

TEST_F(cluster_group_spread, copies_are_in_different_racks) {
  living = {{a, "r1", false}, {b, "r1", false}, {c, "r2", false}, {d, "r2", false}};
  goal.replicas = 2;
  found(8);
  settle();
  for (const auto& g : groups) {
    const auto& kept = g.records.begin()->second.replicas;
    ASSERT_EQ(kept.size(), 2U);
    const auto rack = [](node_id n) { return n == a || n == b ? 1 : 2; };
    EXPECT_NE(rack(kept[0]), rack(kept[1]));
  }
}

TEST_F(cluster_group_spread, comes_to_rest_whatever_happens) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    groups.clear();
    missed.clear();
    living = {{a, "", false}, {b, "", false}, {c, "", false}};
    found(1 + random() % 12);
    settle();
    std::uint64_t next = 4;
    for (int event = 0; event < 12; ++event) {
      for (auto steps = random() % 6; steps > 0; --steps)
        step();
      const auto which = random() % living.size();
      if (const auto what = random() % 3; what == 0 || living.size() < 4)
        living.push_back({node_id{next++}, "", false});
      else if (what == 1)
        kill(living[which].node);
      else
        living[which].draining = !living[which].draining;
      settle(); // one failure at a time: more than one may take all copies away
    }
    for (auto& m : living)
      m.draining = false;
    settle();
    const auto by = led();
    int most = 0, least = static_cast<int>(groups.size());
    for (const auto& m : living) {
      const auto count = by.contains(m.node) ? by.at(m.node) : 0;
      most = std::max(most, count);
      least = std::min(least, count);
    }
    if (groups.size() > 1) {
      EXPECT_LE(most - least, 1);
    }
  }
}

} // namespace
} // namespace lycosa::cluster
