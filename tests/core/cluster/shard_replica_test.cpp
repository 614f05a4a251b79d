#include "core/cluster/shard_replica.hpp"
#include "tests/core/cluster/support.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;
constexpr node_id a{1}, b{2}, c{3};
constexpr session_id own{11}, other{12}, third{13};

/// Node a, with two batches of epoch 1; b leads epoch 1, in a session that is there.
class cluster_replica : public testing::Test {
protected:
  cluster_replica() {
    replica.members_seen({{a, own}, {b, other}, {c, third}});
    replica.session_seen(own, now + 1h, now, out);
    see({1, b, other, {a, b, c}, {a, b, c}, 2, 5});
  }
  void see(const shard_record& r) {
    out.clear();
    replica.record_seen(r, now, out);
  }
  void tick(usec later) {
    now += later;
    out.clear();
    replica.tick(now, out);
  }
  void hear(node_id from, const message& m) {
    out.clear();
    replica.receive(from, m, now, out);
  }

  replication_limits limits;
  mono_time now{100s};
  effects out;
  shard_replica replica{a, {shard_log{1, {{1, 1}}, {10, 10}}, 2, {}, {}}, limits};
};

TEST_F(cluster_replica, follows_while_there_is_a_leader) {
  tick(10s);
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(replica.leads());
  EXPECT_EQ(replica.append(10, now, out).error(), append_refusal::not_leader);
}

TEST_F(cluster_replica, a_record_older_than_its_log_is_of_a_store_that_was_put_back) {
  shard_replica r{a, {shard_log{1, {{1, 1}, {3, 2}}, {10, 10}}, 2, {}, {}}, limits};
  r.members_seen({{a, own}});
  r.session_seen(own, now + 1h, now, out);
  r.record_seen({2, node_id::none, session_id::none, {a}, {a}, 1, 5}, now, out);
  out.clear();
  r.tick(now, out);
  r.tick(now + limits.election_wait, out);
  EXPECT_FALSE(last_of<effect::propose>(out));
  r.record_seen({3, node_id::none, session_id::none, {a}, {a}, 1, 6}, now, out);
  r.tick(now, out);
  r.tick(now + limits.election_wait, out);
  EXPECT_TRUE(last_of<effect::propose>(out));
}

TEST_F(cluster_replica, a_leader_that_gives_up_leaves_the_place_vacant) {
  see({2, a, own, {a, b, c}, {a, b, c}, 2, 6});
  ASSERT_TRUE(replica.leads());
  out.clear();
  replica.give_up(now, out);
  EXPECT_FALSE(replica.leads());
  EXPECT_EQ(last_of<effect::fail_open>(out)->why, stop_reason::not_enough);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.leader, node_id::none);
}

TEST_F(cluster_replica, stands_for_election_when_the_leaders_session_has_ended) {
  replica.members_seen({{a, own}, {c, third}});
  tick(1ms);
  EXPECT_EQ(sent<candidate_message>(out, c).size(), 1U);
  EXPECT_FALSE(last_of<effect::propose>(out)) << "others may have more";
  tick(limits.election_wait);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->next.leader, a);
  EXPECT_EQ(p->next.epoch, 2U);
  EXPECT_EQ(p->ended, other) << "the store looks at that again";
}

TEST_F(cluster_replica, lets_one_with_a_longer_log_go_first_but_not_for_ever) {
  replica.members_seen({{a, own}, {c, third}});
  tick(1ms);
  hear(c, candidate_message{5, {1, 3}, true});
  EXPECT_EQ(sent<candidate_message>(out, c).size(), 1U) << "and tells its own";
  tick(limits.election_wait);
  EXPECT_FALSE(last_of<effect::propose>(out));
  tick(limits.election_wait);
  EXPECT_FALSE(last_of<effect::propose>(out));
  tick(limits.election_wait);
  EXPECT_TRUE(last_of<effect::propose>(out)) << "c has not used its chance";
}

TEST_F(cluster_replica, the_words_of_candidates_count_for_their_version_only) {
  replica.members_seen({{a, own}, {c, third}});
  hear(c, candidate_message{4, {1, 3}, true});
  EXPECT_TRUE(out.empty());
  tick(1ms);
  tick(limits.election_wait);
  EXPECT_TRUE(last_of<effect::propose>(out));
}

TEST_F(cluster_replica, does_not_stand_outside_the_set_or_without_a_session) {
  see({1, b, other, {b, c}, {a, b, c}, 2, 6});
  replica.members_seen({});
  tick(1s);
  EXPECT_TRUE(out.empty());
  see({1, b, other, {a, b, c}, {a, b, c}, 2, 7});
  replica.session_ended(out);
  tick(1s);
  EXPECT_TRUE(out.empty());
}

TEST_F(cluster_replica, leads_when_the_record_says_so_and_follows_again_when_not) {
  see({2, a, own, {a, b, c}, {a, b, c}, 2, 6});
  EXPECT_TRUE(replica.leads());
  EXPECT_EQ(last_of<effect::write_opening>(out)->id, (entry_id{2, 3}));
  see({3, c, third, {a, b, c}, {a, b, c}, 2, 7});
  EXPECT_FALSE(replica.leads());
  EXPECT_TRUE(last_of<effect::fail_open>(out));
  hear(c, append_message{3, {1, 2}, {{{3, 3}, 10}}, 2, 0});
  EXPECT_FALSE(last_of<effect::write_batches>(out)) << "its own opening stands there";
  EXPECT_EQ(sent<state_message>(out, c).at(0).end, (entry_id{2, 3}));
}

TEST_F(cluster_replica, does_not_lead_for_a_session_that_it_had_before) {
  see({2, a, session_id{7}, {a, b, c}, {a, b, c}, 2, 6});
  EXPECT_FALSE(replica.leads());
  tick(1ms);
  tick(limits.election_wait);
  const auto p = last_of<effect::propose>(out);
  ASSERT_TRUE(p) << "but may ask for the next epoch at once";
  EXPECT_EQ(p->next.epoch, 3U);
  EXPECT_EQ(p->next.leader_session, own);
  EXPECT_EQ(p->ended, session_id::none);
}

TEST_F(cluster_replica, a_former_leader_that_hears_the_new_one_stops_before_it_follows) {
  see({2, a, own, {a, b, c}, {a, b, c}, 2, 6});
  hear(c, append_message{3, {2, 3}, {{{3, 4}, 0}}, 0, 0});
  ASSERT_EQ(out.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<effect::fail_open>(out[0]));
  EXPECT_TRUE(std::holds_alternative<effect::write_batches>(out[1]));
}

TEST_F(cluster_replica, a_shard_that_is_not_whole_neither_stands_nor_leads) {
  shard_replica half{a, {{}, 0, {1, 1}, copy_progress{{1, 1}, {1, 9}, 2}}, limits};
  half.session_seen(own, now + 1h, now, out);
  half.record_seen({1, b, other, {a, b, c}, {a, b, c}, 2, 5}, now, out);
  half.tick(now, out);
  half.tick(now + 1s, out);
  half.record_seen({2, a, own, {a, b, c}, {a, b, c}, 2, 6}, now, out);
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(half.leads());
}

TEST_F(cluster_replica, is_wanted_while_it_is_a_replica_or_a_member) {
  see({1, b, other, {a, b}, {b, c}, 2, 6});
  EXPECT_TRUE(replica.wanted());
  see({1, b, other, {b, c}, {b, c}, 2, 7});
  EXPECT_FALSE(replica.wanted());
}

TEST_F(cluster_replica, old_records_are_ignored) {
  see({2, a, own, {a, b, c}, {a, b, c}, 2, 6});
  see({1, b, other, {a, b, c}, {a, b, c}, 2, 5});
  EXPECT_TRUE(replica.leads());
}

} // namespace
} // namespace lycosa::cluster
