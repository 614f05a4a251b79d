#include "tests/core/cluster/leader_fixture.hpp"

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;
using cluster_leader_members = leader_fixture;

TEST_F(cluster_leader_members, a_member_that_it_may_have_added_counts_at_once) {
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

TEST_F(cluster_leader_members, takes_in_nobody_who_lacks_the_opening_of_the_epoch) {
  record.in_sync = {a, b};
  lead();
  hear(c, 2);
  EXPECT_FALSE(last_of<effect::propose>(out));
  hear(c, 3);
  EXPECT_TRUE(last_of<effect::propose>(out));
}

TEST_F(cluster_leader_members, a_slow_member_is_dropped_and_then_nobody_waits_for_it) {
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

TEST_F(cluster_leader_members, a_silent_member_is_dropped_even_when_nothing_is_written) {
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

TEST_F(cluster_leader_members, a_member_whose_session_has_ended_is_dropped_at_once_and_not_taken_in) {
  lead();
  sync(3);
  hear(b, 3);
  leader->members_seen({{a, own}, {b, session_id{22}}});
  tick(100ms);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
  accept(p->next);
  EXPECT_EQ(acknowledged(), 3U);
  hear(c, 3);
  EXPECT_FALSE(last_of<effect::propose>(out));
  leader->members_seen({{a, own}, {b, session_id{22}}, {c, session_id{33}}});
  hear(c, 3);
  EXPECT_TRUE(last_of<effect::propose>(out));
}

TEST_F(cluster_leader_members, a_member_that_is_needed_is_not_dropped_for_being_slow) {
  record.in_sync = {a, b};
  record.replicas = {a, b};
  lead();
  tick(limits.slow_after * 3);
  EXPECT_FALSE(last_of<effect::propose>(out)) << "it would acknowledge no more without b";
}

TEST_F(cluster_leader_members, an_unknown_outcome_is_settled_by_another_change) {
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

TEST_F(cluster_leader_members, hands_over_to_the_first_replica_when_it_has_everything) {
  record.replicas = {b, a, c};
  lead();
  leader->members_seen({{a, own}, {b, session_id{22}}, {c, session_id{33}}});
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

TEST_F(cluster_leader_members, a_member_that_is_no_replica_any_more_is_let_go) {
  record.replicas = {a, b};
  lead();
  hear(b, 3);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.in_sync, (std::vector{a, b}));
}

TEST_F(cluster_leader_members, gives_up_when_its_disk_fails) {
  lead();
  out.clear();
  leader->disk_failed(now, out);
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::disk_failed);
  EXPECT_EQ(last_of<effect::propose>(out)->next.leader, node_id::none);
}

} // namespace
} // namespace lycosa::cluster
