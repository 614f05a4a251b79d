#include "core/cluster/session_lease.hpp"

#include <gtest/gtest.h>

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;
constexpr mono_time start{100s};

TEST(cluster_session_lease, does_not_hold_before_it_was_granted) {
  EXPECT_FALSE((session_lease{10s, 0.01}.holds(start)));
}

TEST(cluster_session_lease, counts_from_the_question_and_ends_before_the_stores_count) {
  session_lease lease{10s, 0.01};
  lease.granted(start);
  EXPECT_TRUE(lease.holds(start + 9'800ms));
  // A clock that is slow by 1 % against a store that is fast by 1 %: 10 s there are 9.80 here.
  EXPECT_FALSE(lease.holds(start + 9'802ms));
}

TEST(cluster_session_lease, late_answers_do_not_shorten_it) {
  session_lease lease{10s, 0};
  lease.granted(start + 3s);
  lease.granted(start);
  EXPECT_EQ(lease.until(), start + 13s);
}

TEST(cluster_session_lease, is_over_when_the_store_says_so) {
  session_lease lease{10s, 0};
  lease.granted(start);
  lease.lost();
  EXPECT_FALSE(lease.holds(start));
  EXPECT_FALSE(lease.until());
}

} // namespace
} // namespace lycosa::cluster
