#include "core/messages/tick_plan.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using namespace std::chrono_literals;
using seconds = std::vector<std::int64_t>;

constexpr wall_time at(usec t) {
  return wall_time{t};
}

TEST(tick_plan, fires_at_every_second_that_min_tick_divides) {
  tick_plan p;
  p.set(true, 10s, at(1003s));
  EXPECT_EQ(p.next(), at(1010s));
  EXPECT_TRUE(p.take(at(1009s + 999'999us)).seconds.empty());
  EXPECT_EQ(p.take(at(1010s)).seconds, seconds{1010});
  EXPECT_TRUE(p.take(at(1010s + 500ms)).seconds.empty()) << "once a second";
  EXPECT_EQ(p.next(), at(1020s));
}

TEST(tick_plan, every_second_is_looked_at_even_when_looks_are_late) {
  tick_plan p;
  p.set(true, 1s, at(100s));
  EXPECT_EQ(p.take(at(103s + 200ms)).seconds, (seconds{101, 102, 103}));
}

TEST(tick_plan, after_a_stall_the_last_minute_is_made_up_for_and_the_rest_counted_once) {
  tick_plan p;
  p.set(true, 1s, at(1000s));
  const auto due = p.take(at(1000s + 1h));
  EXPECT_EQ(due.seconds.size(), 60U);
  EXPECT_EQ(due.seconds.back(), 4600);
  EXPECT_EQ(due.missed, 3540U);
  EXPECT_EQ(p.take(at(4601s)).missed, 0U);
}

TEST(tick_plan, a_long_period_is_made_up_for_even_when_it_exceeds_the_window) {
  tick_plan p;
  p.set(true, 1h, at(100s));
  const auto due = p.take(at(3600s + 30min));
  EXPECT_EQ(due.seconds, seconds{3600});
  EXPECT_EQ(due.missed, 0U);
}

TEST(tick_plan, nothing_is_made_up_for_the_time_a_project_did_not_run) {
  tick_plan p;
  p.set(true, 10s, at(1000s));
  p.set(false, 10s, at(1005s));
  EXPECT_FALSE(p.next());
  EXPECT_TRUE(p.take(at(2000s)).seconds.empty());
  p.set(true, 10s, at(2005s));
  EXPECT_EQ(p.take(at(2010s)).seconds, seconds{2010});
}

TEST(tick_plan, a_clock_set_back_starts_afresh_and_a_slewed_one_repeats_nothing) {
  tick_plan p;
  p.set(true, 10s, at(10'000s));
  EXPECT_TRUE(p.take(at(7000s)).seconds.empty());
  EXPECT_EQ(p.take(at(7010s)).seconds, seconds{7010});
  EXPECT_TRUE(p.take(at(7009s)).seconds.empty());
  EXPECT_TRUE(p.take(at(7010s)).seconds.empty()) << "sent already";
}

TEST(tick_plan, a_clock_set_ten_years_forward_costs_one_look) {
  tick_plan p;
  p.set(true, 1s, at(1000s));
  const auto due = p.take(at(1000s + 10 * 8766h));
  EXPECT_EQ(due.seconds.size(), 60U);
  EXPECT_GT(due.missed, 300'000'000U);
}

TEST(tick_plan, less_than_a_second_means_none) {
  tick_plan p;
  p.set(true, 999ms, at(0s));
  EXPECT_FALSE(p.next());
}

} // namespace
} // namespace lycosa
