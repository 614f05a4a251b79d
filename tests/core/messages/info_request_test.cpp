#include "core/messages/info_request.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using namespace std::chrono_literals;

constexpr mono_time at(usec t) {
  return mono_time{t};
}

TEST(info_request, a_project_without_a_script_is_not_asked) {
  info_request r;
  r.set(false, "", "", at(0s));
  EXPECT_FALSE(r.pending());
  EXPECT_FALSE(r.ask(at(1h)));
}

TEST(info_request, is_put_once_and_waits_for_a_consumer) {
  info_request r;
  r.set(true, "a", "", at(0s));
  EXPECT_TRUE(r.pending());
  EXPECT_TRUE(r.ask(at(0s)));
  EXPECT_FALSE(r.ask(at(1h))) << "it waits already";
  EXPECT_FALSE(r.next(at(1h)));
}

TEST(info_request, a_lost_answer_is_asked_for_again_with_growing_pauses_for_ever) {
  info_request r;
  r.set(true, "a", "", at(0s));
  mono_time now = at(0s);
  usec last{0};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(r.ask(now)) << i;
    r.handed_out(now);
    const auto later = now + 4s; // the patience of the first time is over
    ASSERT_TRUE(r.next(later));
    const auto pause = *r.next(later) - now;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, info_request::longest_pause);
    EXPECT_FALSE(r.ask(*r.next(later) - 1us));
    last = pause;
    now = *r.next(later);
  }
  EXPECT_EQ(last, info_request::longest_pause);
  EXPECT_EQ(r.asked(), 20U);
}

TEST(info_request, the_answer_ends_it_and_a_new_script_begins_it_again) {
  info_request r;
  r.set(true, "a", "", at(0s));
  EXPECT_TRUE(r.ask(at(0s)));
  r.handed_out(at(0s));
  r.set(true, "a", "a", at(1s));
  EXPECT_FALSE(r.pending());
  r.set(true, "b", "a", at(2s));
  EXPECT_TRUE(r.pending());
  EXPECT_TRUE(r.ask(at(2s))) << "at once, without the pauses of the old one";
  EXPECT_EQ(r.script(), "b");
}

TEST(info_request, other_changes_of_the_project_do_not_ask_again) {
  info_request r;
  r.set(true, "a", "", at(0s));
  EXPECT_TRUE(r.ask(at(0s)));
  r.set(true, "a", "", at(1s));
  EXPECT_FALSE(r.ask(at(1s)));
}

TEST(info_request, the_rest_waits_for_the_answer_and_not_for_ever) {
  info_request r{3s};
  r.set(true, "a", "", at(0s));
  EXPECT_TRUE(r.blocks(at(1h))) << "nobody has come for the question";
  EXPECT_TRUE(r.ask(at(1h)));
  r.handed_out(at(1h));
  EXPECT_TRUE(r.blocks(at(1h + 2s)));
  EXPECT_EQ(r.next(at(1h + 2s)), at(1h + 3s));
  EXPECT_FALSE(r.blocks(at(1h + 3s)));
  EXPECT_TRUE(r.pending()) << "and is asked again";
  EXPECT_EQ(r.next(at(1h + 3s)), at(1h + 10s));
}

TEST(info_request, stopping_the_project_ends_it) {
  info_request r;
  r.set(true, "a", "", at(0s));
  r.set(false, "a", "", at(1s));
  EXPECT_FALSE(r.pending());
}

} // namespace
} // namespace lycosa
