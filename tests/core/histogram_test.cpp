#include "core/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace lycosa {
namespace {

using testing::ElementsAre;

constexpr std::array bounds{1.0, 2.0, 5.0};

TEST(histogram, counts_a_value_in_the_first_bucket_that_holds_it) {
  histogram h(bounds);
  for (const double v : {0.0, 1.0, 1.5, 2.0, 5.0, 5.1})
    h.add(v);
  const auto got = h.look();
  EXPECT_THAT(got.buckets, ElementsAre(2, 2, 1, 1));
  EXPECT_DOUBLE_EQ(got.sum, 14.6);
}

TEST(histogram, takes_a_batch_as_its_values) {
  histogram h(bounds);
  h.add(3);
  histogram::batch b(h);
  b.add(1.5);
  b.add(7, 2);
  EXPECT_THAT(h.look().buckets, ElementsAre(0, 0, 1, 0));
  h.add(b);
  EXPECT_THAT(h.look().buckets, ElementsAre(0, 1, 1, 2));
  EXPECT_DOUBLE_EQ(h.look().sum, 18.5);
}

TEST(histogram, counts_a_value_as_often_as_it_is_told) {
  histogram h(bounds);
  h.add(1.5, 100);
  EXPECT_THAT(h.look().buckets, ElementsAre(0, 100, 0, 0));
  EXPECT_DOUBLE_EQ(h.look().sum, 150);
}

TEST(histogram, loses_nothing_of_several_threads) {
  histogram h(bounds);
  const auto work = [&h] {
    for (int i = 0; i < 10'000; ++i)
      h.add(1);
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_THAT(h.look().buckets, ElementsAre(20'000, 0, 0, 0));
  EXPECT_DOUBLE_EQ(h.look().sum, 20'000);
}

} // namespace
} // namespace lycosa
