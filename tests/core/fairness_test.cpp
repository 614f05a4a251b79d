#include "core/fairness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace lycosa {
namespace {

project_id id(std::uint32_t n) {
  return project_id{n};
}

/// Deals `credit` out; `use` says how much of its quantum a project takes (all of it by default).
std::map<project_id, std::uint64_t>
deal(fair_rotation& r, std::uint64_t credit,
     const std::function<std::uint32_t(fair_rotation::turn)>& use = {}) {
  std::map<project_id, std::uint64_t> got;
  while (const auto t = r.next(credit)) {
    const auto used = use ? use(*t) : t->quantum;
    got[t->project] += used;
    credit -= used;
    if (used < t->quantum) r.remove(t->project); // it has no more
  }
  return got;
}

TEST(fair_rotation, without_projects_or_credit_it_is_nobodys_turn) {
  fair_rotation r;
  EXPECT_FALSE(r.next(100));
  r.add(id(1));
  EXPECT_FALSE(r.next(0));
  EXPECT_TRUE(r.next(1));
}

TEST(fair_rotation, fifteen_hungry_projects_share_a_limited_demand_equally) {
  fair_rotation r;
  for (std::uint32_t n = 0; n < 15; ++n)
    r.add(id(n));
  std::map<project_id, std::uint64_t> total;
  for (int loop = 0; loop < 60; ++loop) {
    const auto got = deal(r, 1000);
    EXPECT_EQ(got.size(), 15U) << "everyone in every grant";
    for (const auto& [p, n] : got) {
      EXPECT_GE(n, 66U);
      EXPECT_LE(n, 67U);
      total[p] += n;
    }
  }
  for (const auto& [p, n] : total)
    EXPECT_EQ(n, 4000U);
}

TEST(fair_rotation, five_hundred_hungry_projects_are_all_served_each_round) {
  fair_rotation r;
  for (std::uint32_t n = 0; n < 500; ++n)
    r.add(id(n));
  EXPECT_EQ(deal(r, 500).size(), 500U);
  EXPECT_EQ(deal(r, 10'000).size(), 500U);
  std::map<project_id, std::uint64_t> total;
  for (int grant = 0; grant < 50; ++grant)
    for (const auto& [p, n] : deal(r, 100))
      total[p] += n;
  EXPECT_EQ(total.size(), 500U);
  for (const auto& [p, n] : total)
    EXPECT_EQ(n, 10U);
}

TEST(fair_rotation, small_demands_go_round) {
  fair_rotation r;
  for (std::uint32_t n = 0; n < 4; ++n)
    r.add(id(n));
  for (std::uint32_t n = 0; n < 12; ++n) {
    const auto got = deal(r, 1);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got.begin()->first, id(n % 4));
  }
}

TEST(fair_rotation, what_one_does_not_use_the_others_get) {
  fair_rotation r;
  for (std::uint32_t n = 0; n < 10; ++n)
    r.add(id(n));
  const auto got =
      deal(r, 1000, [](fair_rotation::turn t) { return t.project == id(3) ? 5U : t.quantum; });
  EXPECT_EQ(got.at(id(3)), 5U);
  std::uint64_t sum = 0;
  for (const auto& [p, n] : got) {
    sum += n;
    if (p != id(3)) {
      EXPECT_NEAR(static_cast<double>(n), 995.0 / 9, 1);
    }
  }
  EXPECT_EQ(sum, 1000U);
}

TEST(fair_rotation, nobody_saves_up_turns) {
  fair_rotation r;
  r.add(id(1));
  r.add(id(2));
  for (int i = 0; i < 10; ++i)
    deal(r, 100, [](fair_rotation::turn t) { return t.project == id(2) ? 0U : t.quantum; });
  r.add(id(2));
  const auto got = deal(r, 100);
  EXPECT_EQ(got.at(id(1)), 50U);
  EXPECT_EQ(got.at(id(2)), 50U);
}

TEST(fair_rotation, a_turn_is_bounded_and_a_lone_project_still_gets_all) {
  fair_rotation r{10};
  r.add(id(1));
  EXPECT_EQ(r.next(1'000'000)->quantum, 10U);
  EXPECT_EQ(deal(r, 95).at(id(1)), 95U);
}

TEST(fair_rotation, coming_back_means_going_to_the_end) {
  fair_rotation r;
  r.add(id(1));
  r.add(id(2));
  r.add(id(3));
  EXPECT_EQ(r.next(3)->project, id(1));
  r.remove(id(1));
  r.add(id(1));
  r.add(id(1));
  EXPECT_EQ(r.size(), 3U);
  EXPECT_EQ(r.next(2)->project, id(2));
  EXPECT_EQ(r.next(1)->project, id(3));
  EXPECT_EQ(r.next(3)->project, id(1));
}

TEST(fair_rotation, the_next_in_turn_can_leave) {
  fair_rotation r;
  r.add(id(1));
  r.add(id(2));
  r.remove(id(1));
  r.remove(id(9));
  EXPECT_EQ(r.next(1)->project, id(2));
  r.remove(id(2));
  EXPECT_TRUE(r.empty());
  EXPECT_FALSE(r.next(1));
  r.add(id(3));
  EXPECT_EQ(r.next(1)->project, id(3));
}

TEST(fair_rotation, with_projects_coming_and_going_each_turn_is_of_one_that_is_there) {
  std::mt19937 random{7};
  fair_rotation r;
  std::set<std::uint32_t> there;
  for (int i = 0; i < 20'000; ++i) {
    const auto n = static_cast<std::uint32_t>(random() % 30);
    switch (random() % 3) {
    case 0:
      r.add(id(n));
      there.insert(n);
      break;
    case 1:
      r.remove(id(n));
      there.erase(n);
      break;
    default: {
      const auto credit = random() % 50;
      const auto t = r.next(credit);
      ASSERT_EQ(t.has_value(), credit > 0 && !there.empty());
      if (!t) break;
      ASSERT_TRUE(there.contains(static_cast<std::uint32_t>(t->project)));
      ASSERT_GE(t->quantum, 1U);
      ASSERT_LE(t->quantum, credit);
    }
    }
    ASSERT_EQ(r.size(), there.size());
  }
  std::set<project_id> served;
  for (std::size_t i = 0; i < there.size(); ++i)
    served.insert(r.next(1)->project);
  EXPECT_EQ(served.size(), there.size());
}

} // namespace
} // namespace lycosa
