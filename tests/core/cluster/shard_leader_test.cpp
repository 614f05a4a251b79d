#include "core/cluster/shard_leader.hpp"
#include "tests/core/cluster/support.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;
constexpr node_id a{1}, b{2}, c{3};
constexpr session_id own{11};
constexpr mono_time start{100s};

/// Node a begins to lead epoch 2 with two batches of epoch 1 in its log: its opening is batch 3.
class cluster_leader : public testing::Test {
protected:
  cluster_leader() {
    limits.window_batches = 4;
    limits.message_batches = 2;
    record = {2, a, own, {a, b, c}, {a, b, c}, 2, 10};
  }

  shard_leader& lead() {
    leader.emplace(leadership{a, own, 2}, record, log, 2, limits, start + 1h, now, out);
    return *leader;
  }
  /// The state of a follower whose log is a part of this one.
  void hear(node_id from, lsn_number synced, bool gap = false) {
    out.clear();
    leader->receive(from, {2, {}, log.at(synced), synced, gap, {}}, now, out);
  }
  void hear(node_id from, const state_message& m) {
    out.clear();
    leader->receive(from, m, now, out);
  }
  void sync(lsn_number through) {
    out.clear();
    leader->synced(through, now, out);
  }
  entry_id append(std::uint32_t bytes = 10) {
    out.clear();
    const auto id = leader->append(bytes, now, out);
    EXPECT_TRUE(id);
    return id ? *id : entry_id{};
  }
  void tick(usec later) {
    now += later;
    out.clear();
    leader->tick(now, out);
  }
  /// The store has taken what was proposed last.
  void accept(const shard_record& next) {
    record = next;
    ++record.version;
    out.clear();
    leader->record_seen(record, now, out);
  }
  lsn_number acknowledged() const {
    const auto all = last_of<effect::acknowledge>(out);
    return all ? all->through : 0;
  }

  shard_log log{1, {{1, 1}}, {10, 10}};
  shard_record record;
  replication_limits limits;
  mono_time now = start;
  effects out;
  std::optional<shard_leader> leader;
};

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

TEST_F(cluster_leader, a_member_that_it_may_have_added_counts_at_once) {
  record.in_sync = {a, b};
  lead();
  sync(3);
  hear(b, 3);
  EXPECT_EQ(acknowledged(), 3U);
  hear(c, 3);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b, c}));
  append();
  sync(4);
  hear(b, 4);
  EXPECT_EQ(acknowledged(), 0U) << "c may be elected and must have it";
  hear(c, 4);
  EXPECT_EQ(acknowledged(), 4U);
}

TEST_F(cluster_leader, takes_in_nobody_who_lacks_the_opening_of_the_epoch) {
  record.in_sync = {a, b};
  lead();
  hear(c, 2);
  EXPECT_FALSE(last_of<effect::propose>(out));
  hear(c, 3);
  EXPECT_TRUE(last_of<effect::propose>(out));
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

TEST_F(cluster_leader, a_slow_member_is_dropped_and_then_nobody_waits_for_it) {
  lead();
  sync(3);
  hear(b, 3);
  hear(c, 3);
  append();
  sync(4);
  for (usec waited{}; waited < limits.slow_after - 200ms; waited += 200ms) {
    tick(200ms);
    hear(b, 4);
    hear(c, 3);
    EXPECT_FALSE(last_of<effect::propose>(out));
  }
  tick(200ms);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
  EXPECT_EQ(acknowledged(), 0U) << "c may still be elected";
  accept(p->next);
  EXPECT_EQ(acknowledged(), 4U);
}

TEST_F(cluster_leader, a_silent_member_is_dropped_even_when_nothing_is_written) {
  lead();
  sync(3);
  hear(b, 3);
  hear(c, 3);
  now += limits.slow_after / 2;
  hear(b, 3);
  tick(limits.slow_after / 2);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
}

TEST_F(cluster_leader, a_member_that_is_needed_is_not_dropped_for_being_slow) {
  record.in_sync = {a, b};
  record.replicas = {a, b};
  lead();
  tick(limits.slow_after * 3);
  EXPECT_FALSE(last_of<effect::propose>(out)) << "it would acknowledge no more without b";
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
  now += 10 * limits.slow_after;
  diverged();
  tick(1ms);
  EXPECT_EQ(last_of<effect::close_snapshot>(out)->id, first->id);
  ASSERT_TRUE(last_of<effect::open_snapshot>(out));
  EXPECT_GT(last_of<effect::open_snapshot>(out)->id, first->id);
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

TEST_F(cluster_leader, an_unknown_outcome_is_settled_by_another_change) {
  record.in_sync = {a, b};
  lead();
  sync(3);
  hear(b, 3);
  hear(c, 3);
  ASSERT_TRUE(last_of<effect::propose>(out));
  // c falls silent, and nothing is known of the proposal to take it in.
  now += limits.slow_after / 2;
  hear(b, 3);
  tick(limits.slow_after / 2);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next, record) << "whichever of the two wins, the version rises";
  accept(p->next);
  append();
  sync(4);
  hear(b, 4);
  EXPECT_EQ(acknowledged(), 4U) << "c is surely none";
}

TEST_F(cluster_leader, hands_over_to_the_first_replica_when_it_has_everything) {
  record.replicas = {b, a, c};
  lead();
  leader->members_seen({{a, own}, {b, session_id{22}}});
  sync(3);
  hear(c, 3);
  hear(b, 2);
  EXPECT_FALSE(last_of<effect::propose>(out));
  hear(b, 3);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.leader, b);
  EXPECT_EQ(p->next.leader_session, session_id{22});
  EXPECT_EQ(p->next.epoch, 3U);
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::handed_over);
  EXPECT_TRUE(leader->stopped()) << "before the store knows";
}

TEST_F(cluster_leader, a_member_that_is_no_replica_any_more_is_let_go) {
  record.replicas = {a, b};
  lead();
  hear(b, 3);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
}

TEST_F(cluster_leader, gives_up_when_its_disk_fails) {
  lead();
  out.clear();
  leader->disk_failed(now, out);
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::disk_failed);
  EXPECT_EQ(last_of<effect::propose>(out)->next.leader, node_id::none);
}

} // namespace
} // namespace lycosa::cluster
