#include "tests/core/cluster/leader_fixture.hpp"

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;
using cluster_leader = leader_fixture;

TEST_F(cluster_leader, opens_its_epoch_and_asks_everyone) {
  lead();
  EXPECT_EQ(last_of<effect::write_opening>(out)->id, (entry_id{2, 3}));
  EXPECT_EQ(sent<append_message>(out, b).size(), 1U);
  EXPECT_EQ(sent<append_message>(out, c).size(), 1U);
  EXPECT_FALSE(leader->serves(now)) << "before all have what former leaders may have acknowledged";
}

TEST_F(cluster_leader, acknowledges_what_is_on_disk_here_and_on_every_member) {
  lead();
  hear(b, 2);
  hear(c, 2);
  EXPECT_EQ(append(), (entry_id{2, 4}));
  hear(b, 4);
  hear(c, 3);
  EXPECT_EQ(acknowledged(), 0U) << "not on disk here";
  sync(4);
  EXPECT_EQ(acknowledged(), 3U) << "c has no more";
  EXPECT_TRUE(leader->serves(now));
  hear(c, 4);
  EXPECT_EQ(acknowledged(), 4U);
}

TEST_F(cluster_leader, acknowledges_nothing_with_fewer_members_than_required) {
  record.in_sync = {a};
  lead();
  sync(3);
  EXPECT_EQ(acknowledged(), 0U);
  EXPECT_EQ(leader->append(1, now, out).error(), append_refusal::too_few);
  hear(b, 3);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
  EXPECT_EQ(acknowledged(), 0U) << "proposed is not decided";
  accept(p->next);
  EXPECT_EQ(acknowledged(), 3U);
  append();
}

TEST_F(cluster_leader, sends_ahead_as_far_as_the_window_goes) {
  lead();
  hear(b, 3);
  for (int i = 0; i < 6; ++i)
    append();
  // 4 … 7 are on the way, 8 and 9 wait.
  hear(b, 3);
  EXPECT_TRUE(sent<append_message>(out, b).empty());
  hear(b, 5);
  const auto more = sent<append_message>(out, b);
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].before, (entry_id{2, 7}));
  ASSERT_EQ(more[0].batches.size(), 2U);
  EXPECT_EQ(more[0].batches[1].id, (entry_id{2, 9}));
}

TEST_F(cluster_leader, bytes_on_the_way_are_bounded_but_one_batch_goes_always) {
  limits.window_bytes = 100;
  lead();
  hear(b, 3);
  append(5000);
  EXPECT_EQ(sent<append_message>(out, b).size(), 1U);
  append(60);
  EXPECT_TRUE(sent<append_message>(out, b).empty());
  hear(b, 4);
  EXPECT_EQ(sent<append_message>(out, b).size(), 1U);
}

TEST_F(cluster_leader, goes_back_when_something_was_lost) {
  lead();
  hear(b, 3);
  append();
  append();
  now += 200ms;
  hear(b, 3, true);
  auto again = sent<append_message>(out, b);
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].before, (entry_id{2, 3}));
  tick(limits.resend_after);
  again = sent<append_message>(out, b);
  ASSERT_FALSE(again.empty()) << "nor does it hang on the follower's telling";
  EXPECT_EQ(again[0].before, (entry_id{2, 3}));
}

TEST_F(cluster_leader, what_was_said_before_something_known_changes_nothing) {
  lead();
  hear(b, 3);
  append();
  hear(b, 4);
  now += 1s;
  hear(b, 3, true);
  EXPECT_TRUE(sent<append_message>(out, b).empty());
}

TEST_F(cluster_leader, takes_no_more_than_may_be_open) {
  limits.open_batches = 2;
  lead();
  append();
  append();
  EXPECT_EQ(leader->append(1, now, out).error(), append_refusal::busy);
  sync(5);
  hear(b, 5);
  hear(c, 5);
  EXPECT_EQ(acknowledged(), 5U);
  append();
}

TEST_F(cluster_leader, a_diverged_member_is_dropped_first_and_copied_then) {
  lead();
  hear(b, {2, {}, {1, 5}, 5, false, {}}); // epoch 1 had more than came here
  EXPECT_FALSE(last_of<effect::open_snapshot>(out)) << "it may be elected, so it keeps what it has";
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, c}));
  accept(p->next);
  const auto view = last_of<effect::open_snapshot>(out);
  ASSERT_TRUE(view);
  out.clear();
  leader->snapshot_opened(view->id, {2, 3}, 5, now, out);
  const auto pieces = sent<copy_message>(out, b);
  ASSERT_EQ(pieces.size(), limits.copy_window);
  EXPECT_EQ(pieces[0].at, (entry_id{2, 3}));
  EXPECT_EQ(pieces[0].history.size(), 2U);
  // What it said before the order is not taken for its state after it.
  hear(b, {2, {}, {2, 3}, 3, false, {}});
  EXPECT_FALSE(last_of<effect::propose>(out));
  hear(b, {2, view->id, {}, 0, false, copy_progress{view->id, {2, 3}, 2}});
  EXPECT_EQ(sent<copy_message>(out, b).size(), 1U) << "of five only one was left";
  hear(b, {2, view->id, {2, 3}, 3, false, {}});
  EXPECT_EQ(last_of<effect::close_snapshot>(out)->id, view->id);
  ASSERT_TRUE(last_of<effect::propose>(out));
  EXPECT_EQ(last_of<effect::propose>(out)->next.in_sync, (std::vector{a, b, c}));
}

TEST_F(cluster_leader, pieces_that_were_lost_are_sent_again) {
  record.in_sync = {a, c};
  lead();
  hear(b, {2, {}, {1, 5}, 5, false, {}});
  const auto view = last_of<effect::open_snapshot>(out);
  ASSERT_TRUE(view);
  leader->snapshot_opened(view->id, {2, 3}, 9, now, out);
  tick(limits.resend_after);
  EXPECT_EQ(sent<copy_message>(out, b).at(0).chunk, 0U);
}

TEST_F(cluster_leader, a_follower_that_stays_away_does_not_keep_others_from_being_copied) {
  record.in_sync = {a};
  record.min_in_sync = 1;
  lead();
  hear(b, {2, {}, {1, 5}, 5, false, {}});
  const auto first = last_of<effect::open_snapshot>(out);
  ASSERT_TRUE(first);
  leader->snapshot_opened(first->id, {2, 3}, 9, now, out);
  const auto diverged = [&] { hear(c, {2, {}, {1, 5}, 5, false, {}}); };
  diverged();
  EXPECT_FALSE(last_of<effect::open_snapshot>(out)) << "one at a time";
  now += limits.slow_after;
  diverged();
  EXPECT_EQ(last_of<effect::close_snapshot>(out)->id, first->id);
  ASSERT_TRUE(last_of<effect::open_snapshot>(out));
  const auto second = last_of<effect::open_snapshot>(out)->id;
  EXPECT_GT(second, first->id);
  // b comes back without having heard of its copying; now it waits for c's.
  hear(b, {2, {}, {1, 5}, 5, false, {}});
  EXPECT_FALSE(last_of<effect::open_snapshot>(out));
  leader->snapshot_opened(second, {2, 3}, 1, now, out);
  hear(c, {2, second, {2, 3}, 3, false, {}});
  hear(b, {2, {}, {1, 5}, 5, false, {}});
  EXPECT_GT(last_of<effect::open_snapshot>(out)->id, second);
}

TEST_F(cluster_leader, a_follower_behind_the_logs_beginning_is_copied) {
  record.in_sync = {a, c};
  log.trim(2);
  lead();
  hear(b, {2, {}, {1, 1}, 1, false, {}});
  EXPECT_TRUE(last_of<effect::open_snapshot>(out));
}

TEST_F(cluster_leader, the_log_is_kept_for_those_away_as_far_as_it_fits) {
  limits.log_bytes = 100;
  record.in_sync = {a, b};
  lead();
  for (lsn_number n = 4; n <= 30; ++n) {
    append();
    hear(b, n);
    sync(n);
    EXPECT_LE(log.bytes(), 110U);
  }
  EXPECT_EQ(log.begin(), 21U);
  hear(c, 30); // it has come back after all
  append();
  sync(31);
  hear(b, 31);
  hear(c, 31);
  EXPECT_EQ(log.begin(), 32U) << "nobody needs it";
}

TEST_F(cluster_leader, stops_for_good_with_its_lease) {
  lead();
  hear(b, 3);
  hear(c, 3);
  append();
  hear(b, 4);
  hear(c, 4);
  now = start + 1h;
  sync(4);
  EXPECT_EQ(acknowledged(), 0U);
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::lease_ended);
  leader->lease_extended(now + 1h);
  sync(4);
  tick(1s);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(leader->append(1, now, out).error(), append_refusal::not_leader);
}

TEST_F(cluster_leader, stops_when_it_hears_of_a_newer_epoch) {
  lead();
  hear(b, {3, {}, {1, 2}, 2, false, {}});
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::fenced);
  EXPECT_TRUE(leader->stopped());
}

TEST_F(cluster_leader, stops_when_the_record_names_another) {
  lead();
  auto next = record;
  next.epoch = 3;
  next.leader = b;
  accept(next);
  EXPECT_TRUE(leader->stopped());
  sync(3);
  EXPECT_TRUE(out.empty());
}

} // namespace
} // namespace lycosa::cluster
