#include "core/retention.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

instant at(usec t) {
  return {wall_time{hours{24 * 365 * 50} + t}, mono_time{t}};
}

} // namespace

TEST(retention, without_bounds_nothing_is_swept) {
  retention_watch w(2);
  w.set({}, at(seconds{0}).mono);
  EXPECT_FALSE(w.begin(0, 1'000'000, at(seconds{1})));
  EXPECT_FALSE(w.next());
}

TEST(retention, by_count_each_shard_has_its_share_and_some_slack) {
  retention_watch w(4);
  w.set({usec{0}, 6400}, at(seconds{0}).mono);
  EXPECT_FALSE(w.begin(0, 1600, at(seconds{1})));
  EXPECT_FALSE(w.begin(0, 1625, at(seconds{1})));
  const auto sweep = w.begin(0, 1700, at(seconds{1}));
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->excess, 100u);
  EXPECT_EQ(sweep->older_than, wall_time{});
  EXPECT_FALSE(w.begin(0, 1700, at(seconds{1}))) << "one at a time";
  EXPECT_TRUE(w.begin(1, 1700, at(seconds{1})));
  sweep_outcome done;
  done.erased = 100;
  w.done(0, done, at(seconds{2}).mono);
  EXPECT_TRUE(w.begin(0, 1700, at(seconds{2})));
}

TEST(retention, one_task_may_be_all_that_is_kept) {
  retention_watch w(1);
  w.set({usec{0}, 1}, at(seconds{0}).mono);
  EXPECT_FALSE(w.begin(0, 1, at(seconds{0})));
  EXPECT_EQ(w.begin(0, 3, at(seconds{0}))->excess, 2u);
}

TEST(retention, by_age_a_round_goes_on_where_it_was_and_the_next_comes_later) {
  retention_watch w(1);
  w.set({minutes{16}, 0}, at(seconds{0}).mono);
  auto sweep = w.begin(0, 10, at(seconds{5}));
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->older_than, at(seconds{5}).wall - minutes{16});
  EXPECT_EQ(sweep->after, 0u);
  w.done(0, sweep_outcome{500, false, task_status::failed, 77}, at(seconds{6}).mono);
  EXPECT_LE(*w.next(), at(seconds{6}).mono);
  sweep = w.begin(0, 10, at(seconds{6}));
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->status, task_status::failed);
  EXPECT_EQ(sweep->after, 77u);
  w.done(0, sweep_outcome{0, true, task_status::bad, 99}, at(seconds{7}).mono);
  EXPECT_FALSE(w.begin(0, 10, at(seconds{8})));
  EXPECT_EQ(*w.next(), at(seconds{65}).mono);
  sweep = w.begin(0, 10, at(seconds{65}));
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->after, 0u);
}

TEST(retention, a_failed_sweep_is_tried_again_later) {
  retention_watch w(1);
  w.set({hours{1}, 5}, at(seconds{0}).mono);
  ASSERT_TRUE(w.begin(0, 10, at(seconds{0})));
  w.done(0, std::nullopt, at(seconds{1}).mono);
  EXPECT_FALSE(w.begin(0, 10, at(seconds{2})));
  EXPECT_EQ(*w.next(), at(seconds{31}).mono);
  EXPECT_TRUE(w.begin(0, 10, at(seconds{31})));
}

TEST(retention, a_sweep_that_could_remove_nothing_is_not_repeated_at_once) {
  retention_watch w(1);
  w.set({usec{0}, 5}, at(seconds{0}).mono);
  ASSERT_TRUE(w.begin(0, 10, at(seconds{0})));
  w.done(0, sweep_outcome{}, at(seconds{1}).mono);
  EXPECT_FALSE(w.begin(0, 10, at(seconds{2})));
  EXPECT_TRUE(w.begin(0, 10, at(seconds{31})));
}

TEST(retention, another_bound_counts_at_once) {
  retention_watch w(1);
  w.set({hours{100}, 0}, at(seconds{0}).mono);
  ASSERT_TRUE(w.begin(0, 10, at(seconds{0})));
  w.done(0, sweep_outcome{}, at(seconds{0}).mono);
  EXPECT_FALSE(w.begin(0, 10, at(seconds{10})));
  w.set({minutes{1}, 0}, at(seconds{10}).mono);
  const auto sweep = w.begin(0, 10, at(seconds{10}));
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->older_than, at(seconds{10}).wall - minutes{1});
}

} // namespace lycosa
