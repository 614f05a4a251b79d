#include "core/pause_rule.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using std::chrono::seconds;

/// A pause of 2 s, as pyspider's project test has it.
struct pause_test : ::testing::Test {
  pause_rule rule{{10, seconds{2}, 3}};
  mono_time now{seconds{100}};

  void fail(int times) {
    for (int i = 0; i < times; ++i)
      rule.record(false, now);
  }
  void succeed() { rule.record(true, now); }
  void pass(usec d) {
    now += d;
    rule.advance(now);
  }
};

TEST_F(pause_test, a_fresh_project_runs) {
  EXPECT_FALSE(rule.paused());
  EXPECT_FALSE(rule.next_change());
}

TEST_F(pause_test, nine_failures_or_a_success_among_them_do_not_pause) {
  fail(9);
  EXPECT_FALSE(rule.paused());
  succeed();
  fail(9);
  EXPECT_FALSE(rule.paused());
}

TEST_F(pause_test, ten_failures_in_a_row_pause_until_the_time_is_over) {
  fail(10);
  EXPECT_TRUE(rule.paused());
  EXPECT_EQ(*rule.next_change(), now + seconds{2});
  pass(seconds{1});
  EXPECT_TRUE(rule.paused());
  pass(seconds{2});
  EXPECT_FALSE(rule.paused());
  EXPECT_EQ(rule.now(), pause_rule::state::checking);
}

TEST_F(pause_test, three_failures_of_a_check_pause_again) {
  fail(10);
  pass(seconds{3});
  fail(2);
  EXPECT_FALSE(rule.paused());
  fail(1);
  EXPECT_TRUE(rule.paused());
  pass(seconds{3});
  EXPECT_EQ(rule.now(), pause_rule::state::checking);
}

TEST_F(pause_test, one_success_of_a_check_ends_it_and_failures_count_from_zero) {
  fail(10);
  pass(seconds{3});
  succeed();
  fail(3);
  EXPECT_EQ(rule.now(), pause_rule::state::running);
  fail(6);
  EXPECT_FALSE(rule.paused());
  fail(1);
  EXPECT_TRUE(rule.paused());
}

TEST_F(pause_test, reports_that_come_late_into_a_pause_change_nothing) {
  fail(10);
  fail(5);
  succeed();
  EXPECT_TRUE(rule.paused());
  pass(seconds{2});
  EXPECT_EQ(rule.now(), pause_rule::state::checking);
  fail(2);
  EXPECT_EQ(rule.now(), pause_rule::state::checking);
}

TEST_F(pause_test, a_check_without_reports_ends_by_time) {
  fail(10);
  pass(seconds{2});
  EXPECT_EQ(*rule.next_change(), now + seconds{2});
  pass(seconds{2});
  EXPECT_EQ(rule.now(), pause_rule::state::running);
  EXPECT_FALSE(rule.next_change());
}

TEST_F(pause_test, failures_of_a_check_that_ended_by_time_count_on) {
  fail(10);
  pass(seconds{2});
  fail(2);
  pass(seconds{2});
  fail(7);
  EXPECT_FALSE(rule.paused());
  fail(1);
  EXPECT_TRUE(rule.paused());
}

TEST_F(pause_test, a_report_after_the_pause_counts_for_the_check_even_if_nobody_looked_in_between) {
  fail(10);
  now += seconds{3};
  succeed();
  EXPECT_EQ(rule.now(), pause_rule::state::running);
}

TEST_F(pause_test, switched_off_it_never_pauses_and_ends_a_pause) {
  rule.set({0, seconds{2}, 3});
  fail(100);
  EXPECT_FALSE(rule.paused());
  rule.set({10, seconds{2}, 3});
  fail(10);
  EXPECT_TRUE(rule.paused());
  rule.set({0, seconds{2}, 3});
  EXPECT_FALSE(rule.paused());
}

TEST_F(pause_test, an_operator_can_end_a_pause) {
  fail(10);
  rule.resume();
  EXPECT_FALSE(rule.paused());
  fail(9);
  EXPECT_FALSE(rule.paused());
}

TEST_F(pause_test, a_changed_pause_time_acts_on_the_running_pause) {
  fail(10);
  rule.set({10, seconds{60}, 3});
  pass(seconds{59});
  EXPECT_TRUE(rule.paused());
  rule.set({10, seconds{5}, 3});
  EXPECT_TRUE(rule.advance(now));
  EXPECT_FALSE(rule.paused());
  EXPECT_FALSE(rule.advance(now));
}

} // namespace
} // namespace lycosa
