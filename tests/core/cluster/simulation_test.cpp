// The shard's replicas through thousands of bad days. Each is told by its seed:
//   LYCOSA_SIM_SEED=17 core_tests --gtest_filter=cluster_simulation.*   one day, with its story
//   LYCOSA_SIM_RUNS=20000 …                                             more of them
#include "tests/core/cluster/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace lycosa::cluster::sim {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t usual_runs = 250;
#else
constexpr std::uint64_t usual_runs = 1600;
#endif

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const auto* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoull(value);
}

void tell(const statistics& s) {
  const auto property = [](const char* name, std::uint64_t n) {
    testing::Test::RecordProperty(name, std::to_string(n));
  };
  property("events", s.events);
  property("acknowledged", s.acknowledged);
  property("failed", s.failed);
  property("refused", s.refused);
  property("elections", s.elections);
  property("handovers", s.handovers);
  property("copies", s.copies);
  property("crashes", s.crashes);
  property("fenced", s.fenced);
  property("lease_ends", s.lease_ends);
  property("shrinks", s.shrinks);
  property("grows", s.grows);
  property("reads", s.reads);
  property("placements", s.placements);
  property("deaths", s.deaths);
}

TEST(cluster_simulation, no_acknowledged_operation_is_lost_and_the_replicas_agree) {
  if (const auto seed = number_of("LYCOSA_SIM_SEED", 0)) {
    world w{seed, true};
    const auto error = w.run();
    ASSERT_FALSE(error) << "seed " << seed << ", " << *error;
    return;
  }
  const auto runs = number_of("LYCOSA_SIM_RUNS", usual_runs);
  statistics sum;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= runs && failed < 5; ++seed) {
    world w{seed};
    if (const auto error = w.run()) {
      ADD_FAILURE() << "seed " << seed << ", " << *error << "\nagain: LYCOSA_SIM_SEED=" << seed;
      ++failed;
    }
    sum += w.stats();
  }
  tell(sum);
  // A day on which nothing happens shows nothing.
  EXPECT_GT(sum.acknowledged, 50 * runs);
  EXPECT_GT(sum.elections, 3 * runs);
  EXPECT_GT(sum.copies, runs / 2);
  EXPECT_GT(sum.handovers, runs / 5);
  EXPECT_GT(sum.fenced, runs / 200);
  EXPECT_GT(sum.lease_ends, runs / 10);
  EXPECT_GT(sum.crashes, runs);
  EXPECT_GT(sum.deaths, runs / 20);
}

TEST(cluster_simulation, a_seed_gives_the_same_run_each_time) {
  world a{11}, b{11};
  EXPECT_EQ(a.run(), b.run());
  EXPECT_EQ(a.stats().events, b.stats().events);
  EXPECT_EQ(a.stats().acknowledged, b.stats().acknowledged);
  EXPECT_EQ(a.stats().elections, b.stats().elections);
}

} // namespace
} // namespace lycosa::cluster::sim
