#include "core/cluster/shard_record.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

constexpr node_id a{1}, b{2}, c{3}, d{4};
constexpr session_id first{11}, second{12};

/// a leads epoch 4 with b in sync; c is to be a replica too.
shard_record led() {
  return {4, a, first, {a, b}, {a, b, c}, 2, 9};
}
constexpr leadership leader{a, first, 4};

TEST(cluster_shard_record, a_new_shard_has_its_only_member_and_no_leader_yet) {
  const auto r = found_shard(b, {a, b, c}, 2);
  EXPECT_EQ(r.epoch, 0U);
  EXPECT_EQ(r.leader, node_id::none);
  EXPECT_EQ(elect(r, a, first, true).error(), refusal::not_in_sync);
  EXPECT_EQ(elect(r, b, first, false)->leader, b);
}

TEST(cluster_shard_record, the_leader_takes_in_replicas_only) {
  const auto r = grow(led(), leader, c);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->in_sync, (std::vector{a, b, c}));
  EXPECT_EQ(r->epoch, 4U) << "the leader is the same";
  EXPECT_EQ(r->version, 9U) << "what it was made from";
  EXPECT_EQ(grow(led(), leader, d).error(), refusal::not_replica);
  EXPECT_EQ(grow(led(), leader, b).error(), refusal::no_change);
}

TEST(cluster_shard_record, the_set_does_not_shrink_below_what_is_needed_but_for_the_unfit) {
  auto r = led();
  EXPECT_EQ(shrink(r, leader, b, false).error(), refusal::too_few);
  EXPECT_EQ(shrink(r, leader, b, true)->in_sync, (std::vector{a}));
  r.min_in_sync = 1;
  EXPECT_EQ(shrink(r, leader, b, false)->in_sync, (std::vector{a}));
  EXPECT_EQ(shrink(r, leader, c, false).error(), refusal::no_change);
  EXPECT_FALSE(shrink(r, leader, a, true)) << "the leader itself";
}

TEST(cluster_shard_record, only_the_leader_in_its_epoch_and_session_changes_the_set) {
  for (const leadership other : {leadership{b, first, 4}, {a, second, 4}, {a, first, 3}}) {
    EXPECT_EQ(grow(led(), other, c).error(), refusal::not_leader);
    EXPECT_EQ(shrink(led(), other, b, true).error(), refusal::not_leader);
    EXPECT_EQ(hand_over(led(), other, b, second).error(), refusal::not_leader);
    EXPECT_EQ(resign(led(), other).error(), refusal::not_leader);
  }
}

TEST(cluster_shard_record, a_leader_is_elected_of_members_when_the_former_is_gone) {
  EXPECT_EQ(elect(led(), c, second, true).error(), refusal::not_in_sync);
  EXPECT_EQ(elect(led(), b, second, false).error(), refusal::leader_alive);
  const auto r = elect(led(), b, second, true);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->epoch, 5U);
  EXPECT_EQ(r->leader, b);
  EXPECT_EQ(r->leader_session, second);
  EXPECT_EQ(r->in_sync, led().in_sync) << "the dead one may still come back as it was";
}

TEST(cluster_shard_record, a_restarted_leader_needs_another_epoch) {
  const auto r = elect(led(), a, second, false);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->epoch, 5U);
  EXPECT_EQ(r->leader_session, second);
}

TEST(cluster_shard_record, leadership_is_handed_to_members) {
  const auto r = hand_over(led(), leader, b, second);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->epoch, 5U);
  EXPECT_EQ(r->leader, b);
  EXPECT_EQ(hand_over(led(), leader, c, second).error(), refusal::not_in_sync);
  EXPECT_EQ(hand_over(led(), leader, a, second).error(), refusal::no_change);
}

TEST(cluster_shard_record, after_resigning_any_member_may_be_elected_at_once) {
  const auto r = resign(led(), leader);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->epoch, 4U);
  EXPECT_EQ(r->leader, node_id::none);
  EXPECT_EQ(elect(*r, b, second, false)->epoch, 5U);
}

TEST(cluster_shard_record, the_balancer_places_replicas_and_leaves_the_set_alone) {
  const auto r = place(led(), {d, a});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->replicas, (std::vector{d, a}));
  EXPECT_EQ(r->in_sync, led().in_sync);
  EXPECT_FALSE(place(led(), {}));
  EXPECT_FALSE(place(led(), {a, b, a}));
  EXPECT_FALSE(place(led(), led().replicas));
}

TEST(cluster_shard_record, no_more_members_are_required_than_there_are) {
  EXPECT_EQ(require(led(), 1)->min_in_sync, 1U);
  EXPECT_EQ(require(led(), 3).error(), refusal::too_few);
  EXPECT_EQ(require(led(), 0).error(), refusal::too_few);
  EXPECT_EQ(require(led(), 2).error(), refusal::no_change);
  EXPECT_FALSE(to_string(refusal::too_few).empty());
}

} // namespace
} // namespace lycosa::cluster
