#include "actors/project_census.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lycosa::actors {
namespace {

struct census : testing::Test {
  /// A project that has counted `n` tasks.
  project_meter& make(const std::string& name, std::int64_t n = 0) {
    auto facts = std::make_shared<project_record>();
    facts->id = project_id{++last_id};
    facts->name = name;
    const auto meter = std::make_shared<project_meter>();
    projects.put({facts, {}, {}}, meter);
    count(*meter, n);
    return *meter;
  }
  void count(project_meter& m, std::int64_t n) {
    tally_up(m, all, tally::success, n);
    counted += static_cast<std::uint64_t>(n);
  }
  void remove(const std::string& name) { projects.erase(name); }
  /// Tasks done by project.
  std::map<std::string, std::uint64_t> look(std::size_t limit) {
    view = {};
    looked.look(all.look(), projects, limit, now, view);
    std::map<std::string, std::uint64_t> out;
    for (const auto& p : view.projects)
      EXPECT_TRUE(out.emplace(p.project, p.counts[1]).second) << p.project;
    return out;
  }
  static std::uint64_t sum(const std::map<std::string, std::uint64_t>& of) {
    std::uint64_t n = 0;
    for (const auto& [_, v] : of)
      n += v;
    return n;
  }

  std::uint32_t last_id = 0;
  std::uint64_t counted = 0;
  tally_counts all;
  registry projects;
  mono_time now{std::chrono::hours{5}};
  project_census looked;
  metrics_view view;
};

using names = std::map<std::string, std::uint64_t>;

TEST_F(census, names_all_while_there_are_few) {
  make("a", 3);
  make("b");
  EXPECT_EQ(look(2), (names{{"a", 3}, {"b", 0}, {"other", 0}}));
  EXPECT_EQ(view.projects_known, 2u);
}

TEST_F(census, names_those_with_most_and_counts_the_rest_together) {
  make("a", 3);
  make("b", 30);
  make("c", 20);
  make("d", 4);
  EXPECT_EQ(look(2), (names{{"b", 30}, {"c", 20}, {"other", 7}}));
  EXPECT_EQ(view.projects.back().project, "other");
}

TEST_F(census, queued_tasks_weigh_as_much) {
  make("a", 3);
  make("b").ready = 5;
  EXPECT_EQ(look(1), (names{{"b", 0}, {"other", 3}}));
  EXPECT_EQ(view.projects.front().ready, 5u);
}

TEST_F(census, gives_a_name_up_only_to_one_that_has_twice_as_much) {
  make("a", 10);
  auto& b = make("b", 9);
  EXPECT_EQ(look(1), (names{{"a", 10}, {"other", 9}}));
  count(b, 10);
  EXPECT_EQ(look(1), (names{{"a", 10}, {"other", 19}}));
  count(b, 2);
  EXPECT_EQ(look(1), (names{{"b", 0}, {"other", 21}}));
}

/// A counter that becomes less reads as one that began anew: all of it would count again.
TEST_F(census, what_is_counted_together_never_becomes_less_and_sums_are_right) {
  std::vector<project_meter*> meters;
  for (int i = 0; i < 12; ++i)
    meters.push_back(&make("p" + std::to_string(i)));
  std::uint64_t other = 0;
  std::uint64_t named_before = 0; // told of projects that are named no more
  names last;
  std::uint32_t random = 7;
  for (int round = 0; round < 300; ++round) {
    for (int k = 0; k < 3; ++k) {
      random = random * 1664525 + 1013904223;
      count(*meters[(random >> 16) % meters.size()], (random >> 8) % (1 + round * 10));
    }
    const auto now = look(4);
    EXPECT_EQ(now.size(), 5u);
    EXPECT_GE(now.at("other"), other);
    for (const auto& [name, n] : last)
      if (!now.contains(name)) named_before += n;
    EXPECT_EQ(sum(now) + named_before, counted) << round;
    other = now.at("other");
    last = now;
  }
  EXPECT_GT(named_before, 0u);
}

TEST_F(census, a_deleted_project_takes_its_name_along_and_nothing_else) {
  make("a", 10);
  make("b", 6);
  make("c", 3);
  EXPECT_EQ(look(1), (names{{"a", 10}, {"other", 9}}));
  remove("a");
  remove("c");
  EXPECT_EQ(look(1), (names{{"b", 0}, {"other", 9}}));
  EXPECT_EQ(look(1), (names{{"b", 0}, {"other", 9}}));
}

TEST_F(census, a_project_made_later_brings_all_it_has_counted) {
  make("a", 1);
  look(5);
  make("b", 4);
  EXPECT_EQ(look(5), (names{{"a", 1}, {"b", 4}, {"other", 0}}));
}

TEST_F(census, a_project_called_other_is_one_of_them) {
  make("other", 10).ready = 4;
  make("a", 1);
  EXPECT_EQ(look(5), (names{{"a", 1}, {"other", 10}}));
  EXPECT_EQ(view.projects.back().ready, 4u);
}

TEST_F(census, tells_the_age_of_the_oldest_lease) {
  make("a", 5).oldest_lease = lease_moment(now - std::chrono::seconds{90});
  make("b").oldest_lease = lease_moment(now - std::chrono::seconds{20});
  make("c").oldest_lease = lease_moment(now - std::chrono::seconds{40});
  make("d").oldest_lease = lease_moment(now + std::chrono::seconds{40}); // was extended
  look(1);
  EXPECT_EQ(view.projects.front().oldest_lease, 90u);
  EXPECT_EQ(view.projects.back().oldest_lease, 40u);
  now += std::chrono::seconds{5};
  look(1);
  EXPECT_EQ(view.projects.front().oldest_lease, 95u);
}

/// More than are looked at without a pause.
TEST_F(census, misses_none_of_many) {
  for (int i = 0; i < 10'000; ++i)
    make("p" + std::to_string(i), i + 1).ready = 1;
  const auto told = look(2);
  EXPECT_EQ(view.projects_known, 10'000u);
  EXPECT_EQ(told.at("p9999"), 10'000u);
  EXPECT_EQ(told.at("p9998"), 9'999u);
  EXPECT_EQ(told.at("other"), 10'000u * 10'001 / 2 - 19'999);
  EXPECT_EQ(view.projects.back().ready, 9'998u);
}

TEST_F(census, may_name_none) {
  make("a", 1);
  EXPECT_EQ(look(0), (names{{"other", 1}}));
}

} // namespace
} // namespace lycosa::actors
