#include "core/token_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace lycosa {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr mono_time start{seconds{50}};

TEST(token_bucket, starts_full_and_refills_continuously) {
  token_bucket b{100, 1000, start};
  EXPECT_EQ(b.available(start), 1000U);
  auto now = start + milliseconds{100};
  EXPECT_EQ(b.available(now), 1000U);
  EXPECT_EQ(b.take(100, now), 100U);
  EXPECT_EQ(b.available(now), 900U);
  EXPECT_EQ(b.available(now += milliseconds{100}), 910U);
  EXPECT_EQ(b.available(now += milliseconds{100}), 920U);
}

TEST(token_bucket, gives_no_more_than_it_has) {
  token_bucket b{1, 3, start};
  EXPECT_EQ(b.take(10, start), 3U);
  EXPECT_EQ(b.take(10, start), 0U);
  EXPECT_EQ(b.take(0, start + seconds{2}), 0U);
  EXPECT_EQ(b.take(10, start + seconds{2}), 2U);
}

TEST(token_bucket, a_tenth_of_a_task_a_second_is_one_every_ten_seconds_exactly) {
  token_bucket b{0.1, 1, start};
  EXPECT_EQ(b.take(1, start), 1U);
  auto now = start;
  for (int i = 0; i < 1000; ++i) {
    const auto next = b.next_token_at(now);
    ASSERT_TRUE(next);
    ASSERT_EQ(*next, now + seconds{10});
    now = *next;
    ASSERT_EQ(b.take(1, now - usec{1}), 0U);
    ASSERT_EQ(b.take(1, now), 1U);
  }
}

TEST(token_bucket, a_rate_of_once_a_month_keeps_its_rate) {
  const double month = 30 * 86400.0;
  token_bucket b{1 / month, 1, start};
  b.take(1, start);
  const auto wait = std::chrono::duration<double>(*b.next_token_at(start) - start).count();
  EXPECT_NEAR(wait, month, month * 1e-5);
}

TEST(token_bucket, rate_zero_never_refills) {
  token_bucket b{0, 2, start};
  EXPECT_EQ(b.take(5, start), 2U);
  EXPECT_EQ(b.take(5, start + hours{100'000}), 0U);
  EXPECT_FALSE(b.next_token_at(start + hours{100'000}));
}

TEST(token_bucket, a_burst_below_one_never_gives) {
  token_bucket b{1000, 0.9, start};
  EXPECT_EQ(b.take(5, start + hours{1}), 0U);
  EXPECT_FALSE(b.next_token_at(start + hours{1}));
  token_bucket none{0, 0, start};
  EXPECT_EQ(none.take(1, start + hours{1}), 0U);
}

TEST(token_bucket, a_burst_of_exactly_one_gives_one_at_a_time) {
  token_bucket b{10, 1, start};
  EXPECT_EQ(b.take(5, start + hours{1}), 1U);
  EXPECT_EQ(*b.next_token_at(start + hours{1}), start + hours{1} + milliseconds{100});
}

TEST(token_bucket, next_token_is_now_when_there_is_one) {
  const token_bucket b{1, 1, start};
  EXPECT_EQ(b.next_token_at(start), start);
}

TEST(token_bucket, returned_tokens_can_be_taken_again_but_never_exceed_the_burst) {
  token_bucket b{1, 10, start};
  EXPECT_EQ(b.take(10, start), 10U);
  b.give_back(4);
  EXPECT_EQ(b.available(start), 4U);
  EXPECT_EQ(b.available(start + seconds{3}), 7U);
  b.give_back(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(b.available(start + seconds{3}), 10U);
}

TEST(token_bucket, a_change_of_rate_keeps_what_was_earned_and_acts_at_once) {
  token_bucket b{10, 100, start};
  b.take(100, start);
  b.set(1, 100, start + seconds{2});
  EXPECT_EQ(b.available(start + seconds{2}), 20U);
  EXPECT_EQ(b.available(start + seconds{5}), 23U);
  b.set(0, 100, start + seconds{5});
  EXPECT_EQ(b.available(start + seconds{50}), 23U);
  b.set(1000, 100, start + seconds{50});
  EXPECT_EQ(b.available(start + seconds{50} + milliseconds{10}), 33U);
}

TEST(token_bucket, a_smaller_burst_clamps_and_a_larger_one_gives_nothing_for_free) {
  token_bucket b{1, 100, start};
  b.set(1, 5, start);
  EXPECT_EQ(b.available(start), 5U);
  b.set(1, 100, start);
  EXPECT_EQ(b.available(start), 5U);
  EXPECT_EQ(b.available(start + seconds{95}), 100U);
}

TEST(token_bucket, time_that_goes_back_neither_takes_nor_gives) {
  token_bucket b{10, 10, start};
  b.take(10, start);
  EXPECT_EQ(b.take(10, start - hours{1}), 0U);
  EXPECT_EQ(*b.next_token_at(start - hours{1}), start + milliseconds{100});
  EXPECT_EQ(b.take(10, start), 0U);
  EXPECT_EQ(b.take(10, start + milliseconds{500}), 5U);
}

TEST(token_bucket, jumps_over_all_of_time_fill_it_and_no_more) {
  for (const double rate : {1e-12, 0.1, 1.0, 1e9})
    for (const double burst : {1.0, 1e9}) {
      token_bucket b{rate, burst, mono_time::min()};
      const auto full = static_cast<std::uint64_t>(burst);
      EXPECT_EQ(b.take(full, mono_time::min()), full);
      EXPECT_LE(b.available(mono_time::max()), full);
      if (rate >= 0.1) {
        EXPECT_EQ(b.available(mono_time::max()), full);
      }
    }
}

TEST(token_bucket, nonsense_counts_as_nothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ((token_bucket{nan, nan, start}.available(start)), 0U);
  EXPECT_EQ((token_bucket{-1, -1, start}.available(start)), 0U);
  EXPECT_EQ((token_bucket{inf, inf, start}.available(start)), 1'000'000'000U);
}

/// Any history of asking, with any span of it looked at: at most burst + rate · t.
TEST(token_bucket, in_no_span_goes_more_than_burst_plus_rate_times_its_length) {
  std::mt19937_64 random{42};
  const auto uniform = [&](double a, double b) {
    return std::uniform_real_distribution<double>{a, b}(random);
  };
  for (int round = 0; round < 200; ++round) {
    const double rate = std::pow(10, uniform(-2, 4));
    const double burst = std::floor(std::pow(10, uniform(0, 3))) + (round % 2) * 0.5;
    token_bucket b{rate, burst, start};
    auto now = start;
    std::vector<std::pair<mono_time, double>> taken;
    for (int i = 0; i < 150; ++i) {
      switch (round % 4) {
      case 0:
        now += usec{static_cast<std::int64_t>(uniform(0, 3e6 / rate))};
        break;
      case 1:
        now += usec{i % 10 == 0 ? static_cast<std::int64_t>(uniform(0, 1e8)) : 0};
        break;
      case 2:
        now = b.next_token_at(now).value_or(now);
        break;
      default:
        now += usec{1};
        break;
      }
      const auto want = static_cast<std::uint64_t>(uniform(0, 2 * burst + 1));
      auto got = b.take(want, now);
      if (got > 1 && i % 7 == 0) {
        b.give_back(1);
        --got;
      }
      taken.emplace_back(now, static_cast<double>(got));
    }
    for (std::size_t from = 0; from < taken.size(); ++from) {
      double sum = 0;
      for (std::size_t to = from; to < taken.size(); ++to) {
        sum += taken[to].second;
        const auto t = std::chrono::duration<double>(taken[to].first - taken[from].first).count();
        ASSERT_LE(sum, burst + rate * t + 1e-6) << "rate " << rate << " burst " << burst;
      }
    }
  }
}

TEST(token_bucket, the_long_run_rate_is_exact_however_often_it_is_asked) {
  for (const double rate : {0.1, 1.0 / 3, 7.77, 333.3, 99'999.9})
    for (const auto step : {usec{1}, usec{37}, usec{9'999}}) {
      token_bucket b{rate, 1e6, start};
      b.take(1'000'000, start);
      std::uint64_t total = 0;
      auto now = start;
      for (int i = 0; i < 200'000; ++i)
        total += b.take(1'000'000, now += step);
      const auto t = std::chrono::duration<double>(now - start).count();
      EXPECT_NEAR(static_cast<double>(total), std::floor(rate * t + 1e-6), 1e-9);
    }
}

} // namespace
} // namespace lycosa
