#include "core/cluster/shard_follower.hpp"
#include "tests/core/cluster/support.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

constexpr node_id a{1}, b{2};

append_message batches(epoch_number epoch, entry_id before, std::vector<entry_id> ids) {
  append_message m{epoch, before, {}, 0, 0};
  for (const auto id : ids)
    m.batches.push_back({id, 10});
  return m;
}

class cluster_follower : public testing::Test {
protected:
  /// Has 1 … 3 of epoch 1 on disk.
  cluster_follower() : follower{log, 3, {}, {}} {}

  effects take(node_id from, const auto& m) {
    effects out;
    follower.receive(from, m, out);
    return out;
  }
  static state_message answer(const effects& out, node_id to) {
    const auto all = sent<state_message>(out, to);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? state_message{} : all.back();
  }

  shard_log log{1, {{1, 1}}, {10, 10, 10}};
  shard_follower follower;
};

TEST_F(cluster_follower, writes_first_and_answers_when_it_is_on_disk) {
  auto out = take(a, batches(1, {1, 3}, {{1, 4}, {1, 5}}));
  ASSERT_EQ(out.size(), 1U);
  const auto w = last_of<effect::write_batches>(out);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->first, 0U);
  EXPECT_EQ(w->count, 2U);
  out.clear();
  follower.synced(5, out);
  EXPECT_EQ(answer(out, a).synced, 5U);
  EXPECT_EQ(answer(out, a).end, (entry_id{1, 5}));
}

TEST_F(cluster_follower, skips_what_it_has) {
  const auto out = take(a, batches(1, {1, 1}, {{1, 2}, {1, 3}, {1, 4}}));
  const auto w = last_of<effect::write_batches>(out);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->first, 2U);
  EXPECT_EQ(w->count, 1U);
  EXPECT_FALSE(last_of<effect::write_batches>(take(a, batches(1, {1, 1}, {{1, 2}, {1, 3}}))));
}

TEST_F(cluster_follower, tells_of_a_gap_and_keeps_nothing_behind_it) {
  const auto out = take(a, batches(1, {1, 5}, {{1, 6}}));
  EXPECT_FALSE(last_of<effect::write_batches>(out));
  EXPECT_TRUE(answer(out, a).gap);
  EXPECT_EQ(answer(out, a).end, (entry_id{1, 3}));
}

TEST_F(cluster_follower, refuses_a_former_leader_and_tells_it_the_epoch) {
  take(b, batches(2, {1, 3}, {}));
  const auto out = take(a, batches(1, {1, 3}, {{1, 4}}));
  EXPECT_FALSE(last_of<effect::write_batches>(out));
  EXPECT_EQ(answer(out, a).epoch, 2U);
}

TEST_F(cluster_follower, knows_the_epoch_from_the_record_too) {
  follower.epoch_seen(5);
  EXPECT_EQ(answer(take(a, batches(4, {1, 3}, {{4, 4}})), a).epoch, 5U);
}

TEST_F(cluster_follower, takes_nothing_behind_another_past) {
  take(a, batches(1, {1, 3}, {{1, 4}}));
  // In epoch 2's log position 4 is epoch 2's.
  auto out = take(b, batches(2, {2, 4}, {{2, 5}}));
  EXPECT_FALSE(last_of<effect::write_batches>(out));
  EXPECT_EQ(answer(out, b).end, (entry_id{1, 4})) << "the leader sees that this is not its log";
  out = take(b, batches(2, {1, 3}, {{2, 4}, {2, 5}}));
  EXPECT_FALSE(last_of<effect::write_batches>(out));
}

TEST_F(cluster_follower, answers_questions_at_once) {
  const auto s = answer(take(a, batches(1, {1, 3}, {})), a);
  EXPECT_EQ(s.synced, 3U);
  EXPECT_FALSE(s.gap);
}

TEST_F(cluster_follower, trims_what_it_is_told_but_only_what_is_on_its_disk) {
  auto m = batches(1, {1, 3}, {{1, 4}});
  m.committed = 4;
  m.trim = 4;
  const auto t = last_of<effect::trim_log>(take(a, m));
  ASSERT_TRUE(t);
  EXPECT_EQ(t->through, 3U);
  EXPECT_EQ(log.begin(), 4U);
}

copy_message piece(copy_id id, std::uint32_t chunk) {
  return {2, id, {2, 50}, {{1, 1}, {2, 20}}, chunk, 3};
}

TEST_F(cluster_follower, throws_its_copy_away_only_with_the_first_piece_of_another) {
  EXPECT_TRUE(take(b, piece({2, 1}, 1)).empty());
  EXPECT_TRUE(follower.whole());
  const auto out = take(b, piece({2, 1}, 0));
  EXPECT_TRUE(last_of<effect::discard_shard>(out));
  EXPECT_TRUE(last_of<effect::write_chunk>(out));
  EXPECT_FALSE(follower.whole());
}

TEST_F(cluster_follower, is_whole_again_with_the_last_piece_on_disk_and_goes_on_from_there) {
  effects out;
  for (std::uint32_t n = 0; n < 3; ++n) {
    const auto w = last_of<effect::write_chunk>(take(b, piece({2, 1}, n)));
    ASSERT_TRUE(w);
    EXPECT_EQ(w->last, n == 2);
    out.clear();
    follower.chunks_synced({2, 1}, n + 1, out);
  }
  EXPECT_TRUE(follower.whole());
  EXPECT_EQ(answer(out, b).end, (entry_id{2, 50}));
  EXPECT_EQ(answer(out, b).synced, 50U);
  EXPECT_TRUE(last_of<effect::write_batches>(take(b, batches(2, {2, 50}, {{2, 51}}))));
}

TEST_F(cluster_follower, an_order_that_was_carried_out_is_not_obeyed_again) {
  effects out;
  for (std::uint32_t n = 0; n < 3; ++n) {
    take(b, piece({2, 7}, n));
    follower.chunks_synced({2, 7}, n + 1, out);
  }
  for (const copy_id old : {copy_id{2, 7}, {2, 6}, {1, 9}})
    EXPECT_FALSE(last_of<effect::discard_shard>(take(b, piece(old, 0))));
  EXPECT_TRUE(follower.whole());
}

TEST_F(cluster_follower, pieces_are_taken_in_order_and_the_rest_is_asked_for) {
  take(b, piece({2, 1}, 0));
  const auto out = take(b, piece({2, 1}, 2));
  EXPECT_FALSE(last_of<effect::write_chunk>(out));
  EXPECT_EQ(answer(out, b).copying, (copy_progress{{2, 1}, {2, 50}, 0}));
}

TEST(cluster_follower_restarted, goes_on_with_the_copy_it_was_given) {
  shard_log log;
  shard_follower f{log, 0, {2, 1}, copy_progress{{2, 1}, {2, 50}, 2}};
  EXPECT_FALSE(f.whole());
  EXPECT_EQ(f.epoch(), 2U) << "from the copy's name";
  effects out;
  f.receive(b, batches(2, {2, 60}, {}), out);
  EXPECT_EQ(sent<state_message>(out, b).at(0).copying->chunks, 2U);
  out.clear();
  f.receive(b, piece({2, 1}, 2), out);
  EXPECT_TRUE(last_of<effect::write_chunk>(out));
  f.chunks_synced({2, 1}, 3, out);
  EXPECT_TRUE(f.whole());
  EXPECT_EQ(log.end(), (entry_id{2, 50}));
}

} // namespace
} // namespace lycosa::cluster
