#include "core/cluster/shard_log.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

TEST(cluster_shard_log, an_empty_log_ends_before_the_first_position) {
  const shard_log log;
  EXPECT_EQ(log.begin(), 1U);
  EXPECT_EQ(log.end(), (entry_id{0, 0}));
  EXPECT_TRUE(log.continues({0, 0}));
  EXPECT_FALSE(log.continues({1, 1}));
}

TEST(cluster_shard_log, knows_which_epoch_made_what) {
  shard_log log;
  for (const entry_id id : {entry_id{1, 1}, {1, 2}, {3, 3}, {3, 4}, {4, 5}})
    log.append(id, 10);
  EXPECT_EQ(log.end(), (entry_id{4, 5}));
  EXPECT_EQ(log.epoch_at(2), 1U);
  EXPECT_EQ(log.epoch_at(3), 3U);
  EXPECT_EQ(log.history().size(), 3U) << "one for each leader, not for each batch";
  EXPECT_TRUE(log.continues({3, 4}));
  EXPECT_FALSE(log.continues({1, 3})) << "another leader's batch at that place";
  EXPECT_FALSE(log.continues({4, 6})) << "longer than this one";
}

TEST(cluster_shard_log, what_is_trimmed_is_still_recognised) {
  shard_log log;
  for (lsn_number n = 1; n <= 6; ++n)
    log.append({n <= 3 ? 1U : 2U, n}, static_cast<std::uint32_t>(n));
  EXPECT_EQ(log.bytes(), 21U);
  log.trim(4);
  EXPECT_EQ(log.begin(), 5U);
  EXPECT_EQ(log.bytes(), 11U);
  EXPECT_EQ(log.size_of(5), 5U);
  EXPECT_TRUE(log.continues({1, 2}));
  EXPECT_FALSE(log.continues({2, 2}));
  log.trim(100);
  EXPECT_EQ(log.begin(), 7U);
  EXPECT_EQ(log.end(), (entry_id{2, 6}));
  EXPECT_EQ(log.bytes(), 0U);
}

TEST(cluster_shard_log, goes_on_behind_a_copy) {
  shard_log log;
  log.append({1, 1}, 5);
  log.restart({2, 40}, {{1, 1}, {2, 30}, {3, 41}});
  EXPECT_EQ(log.begin(), 41U);
  EXPECT_EQ(log.end(), (entry_id{2, 40})) << "of the history only what the copy holds";
  log.append({3, 41}, 7);
  EXPECT_TRUE(log.continues({2, 35}));
  EXPECT_EQ(log.bytes(), 7U);
}

TEST(cluster_shard_log, is_the_same_when_it_is_read_back) {
  const shard_log log{5, {{1, 1}, {2, 6}}, {10, 20, 30}};
  EXPECT_EQ(log.begin(), 5U);
  EXPECT_EQ(log.end(), (entry_id{2, 7}));
  EXPECT_EQ(log.epoch_at(5), 1U);
  EXPECT_EQ(log.bytes(), 60U);
  EXPECT_EQ(log.size_of(6), 20U);
}

} // namespace
} // namespace lycosa::cluster
