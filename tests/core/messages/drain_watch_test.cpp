#include "core/messages/drain_watch.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using namespace std::chrono_literals;

constexpr mono_time at(usec t) {
  return mono_time{t};
}

TEST(drain_watch, says_nothing_before_anything_was_selected) {
  drain_watch w;
  EXPECT_FALSE(w.due(true, at(0s)));
  EXPECT_FALSE(w.due(true, at(1h)));
  EXPECT_FALSE(w.next());
}

TEST(drain_watch, is_due_once_after_the_project_has_been_dry_for_the_delay) {
  drain_watch w{1s};
  w.selected();
  EXPECT_FALSE(w.due(false, at(10s)));
  EXPECT_FALSE(w.due(true, at(20s)));
  EXPECT_EQ(w.next(), at(21s));
  EXPECT_FALSE(w.due(true, at(20'999'999us)));
  EXPECT_TRUE(w.due(true, at(21s)));
  EXPECT_FALSE(w.due(true, at(1h))) << "never twice";
}

TEST(drain_watch, a_task_in_between_starts_the_wait_again) {
  drain_watch w{1s};
  w.selected();
  EXPECT_FALSE(w.due(true, at(20s)));
  EXPECT_FALSE(w.due(false, at(20'500'000us)));
  EXPECT_FALSE(w.due(true, at(21s)));
  EXPECT_FALSE(w.due(true, at(21'999'999us)));
  EXPECT_TRUE(w.due(true, at(22s)));
}

TEST(drain_watch, the_next_selected_task_arms_it_again) {
  drain_watch w{0s};
  w.selected();
  EXPECT_TRUE(w.due(true, at(1s)));
  w.selected();
  EXPECT_TRUE(w.due(true, at(2s)));
}

} // namespace
} // namespace lycosa
