#include "core/counters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace lycosa {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr wall_time start{seconds{1'700'000'000}};

TEST(total_counter, adds_everything) {
  total_counter c;
  EXPECT_TRUE(c.empty());
  for (int i = 0; i < 3; ++i)
    c.event(i);
  EXPECT_EQ(c.sum(), 3);
  EXPECT_EQ(c.avg(), 3);
  EXPECT_FALSE(c.empty());
}

TEST(average_window_counter, remembers_the_last_ten) {
  average_window_counter c{10};
  EXPECT_TRUE(c.empty());
  EXPECT_EQ(c.avg(), 0);
  for (int i = 0; i < 20; ++i)
    c.event(i);
  EXPECT_FALSE(c.empty());
  EXPECT_EQ(c.sum(), 145);
  EXPECT_EQ(c.avg(), 14.5);
}

TEST(event_counter, knows_the_last_two_seconds_of_values_a_tenth_apart) {
  event_counter c{2, seconds{1}};
  auto now = start;
  for (int i = 100; i < 200; ++i)
    c.event(i, now += usec{100'100}); // a sleep of a tenth of a second takes a bit longer
  EXPECT_EQ(c.sum(now), 3790);
  EXPECT_EQ(c.avg(now), 189.5);
}

TEST(event_counter, reading_twice_gives_the_same_average) {
  event_counter c{30, seconds{10}};
  c.event(2, start);
  c.event(4, start + seconds{1});
  const auto now = start + seconds{12};
  EXPECT_EQ(c.avg(now), 3);
  EXPECT_EQ(c.avg(now), 3);
  c.event(9, now);
  EXPECT_EQ(c.avg(now), 5);
}

TEST(event_counter, without_events_the_average_is_nought) {
  event_counter c;
  EXPECT_EQ(c.avg(start), 0);
  EXPECT_EQ(c.sum(start), 0);
  EXPECT_TRUE(c.empty(start));
}

TEST(window_counter, averages_over_its_age_while_it_is_young_and_then_over_its_window) {
  window_counter c{30, seconds{10}};
  auto now = start;
  EXPECT_EQ(c.avg(now), 0);
  c.event(1, now);
  EXPECT_EQ(c.avg(now), 0) << "no time has passed";
  for (int i = 1; i < 100; ++i)
    c.event(1, now += seconds{1});
  EXPECT_NEAR(c.avg(now), 100.0 / 99, 1e-9);
  for (int i = 0; i < 1000; ++i)
    c.event(1, now += seconds{1});
  EXPECT_NEAR(c.avg(now), 1, 0.05);
  EXPECT_NEAR(c.sum(now), 300, 12);
}

TEST(window_counter, forgets_what_is_older_than_its_window) {
  window_counter c{30, seconds{10}};
  c.event(5, start);
  EXPECT_EQ(c.sum(start + seconds{299}), 5);
  EXPECT_FALSE(c.empty(start + seconds{299}));
  EXPECT_EQ(c.sum(start + seconds{301}), 0);
  EXPECT_TRUE(c.empty(start + seconds{301}));
}

TEST(window_counter, a_value_opens_a_slot_that_later_events_add_to) {
  window_counter c;
  c.value(7, start);
  EXPECT_FALSE(c.empty(start));
  c.event(1, start + seconds{1});
  EXPECT_EQ(c.sum(start + seconds{1}), 8);
  c.value(3, start + seconds{2});
  EXPECT_EQ(c.sum(start + seconds{2}), 3);
}

TEST(window_counter, a_clock_set_back_undoes_the_counts_of_that_time_only) {
  window_counter c{30, seconds{10}};
  c.event(1, start);
  c.event(2, start + seconds{60});
  c.event(4, start + seconds{120});
  const auto back = start + seconds{70};
  EXPECT_EQ(c.sum(back), 3);
  c.event(8, back);
  EXPECT_EQ(c.sum(back), 11);
  EXPECT_EQ(c.sum(start - hours{1}), 0);
  c.event(1, start - hours{1});
  EXPECT_EQ(c.sum(start - hours{1}), 1);
  EXPECT_GE(c.avg(start - hours{1}), 0);
}

TEST(window_counter, a_clock_set_far_ahead_empties_it) {
  window_counter c;
  c.event(1, start);
  EXPECT_EQ(c.sum(start + hours{24 * 365 * 1000}), 0);
}

// -- of a project --------------------------------------------------------------------------------

TEST(project_counters, count_each_kind_in_each_window) {
  project_counters c;
  c.record({.pending = 3, .success = 2, .retry = 1, .failed = 4}, start);
  c.record({.pending = 1}, start + minutes{6});
  const auto now = start + minutes{6};
  using enum counter_window;
  EXPECT_EQ(c.read(five_minutes, counter_kind::sum, now).pending, 1);
  EXPECT_EQ(c.read(five_minutes, counter_kind::sum, now).success, 0);
  const auto hourly = c.read(hour, counter_kind::sum, now);
  EXPECT_EQ(hourly.pending, 4);
  EXPECT_EQ(hourly.success, 2);
  EXPECT_EQ(hourly.retry, 1);
  EXPECT_EQ(hourly.failed, 4);
  EXPECT_EQ(c.read(hour, counter_kind::sum, start + minutes{62}).failed, 0);
  EXPECT_EQ(c.read(day, counter_kind::sum, start + hours{23}).failed, 4);
  EXPECT_EQ(c.read(day, counter_kind::sum, start + hours{25}).failed, 0);
  EXPECT_NEAR(c.read(day, counter_kind::avg, start + hours{12}).success, 0, 1e-9 + 2.0 / 43'200);
}

TEST(project_counters, what_was_handled_is_told_in_steps_of_ten_seconds) {
  project_counters c;
  const auto at = [](int s) { return start + seconds{s}; };
  EXPECT_EQ(c.handled(at(0)).counts, (std::array<double, 30>{}));
  for (int s = 0; s < 100; ++s) // steps begin at 0, as `start` does
    c.record({.pending = 7, .success = 2, .retry = 1, .failed = s % 10 == 0}, at(s));
  const auto h = c.handled(at(105));
  EXPECT_EQ(h.until, at(100));
  double sum = 0;
  for (auto n : h.counts)
    sum += n;
  // A slot is shared out over the time it was open, so that some counts as a step earlier or later.
  EXPECT_NEAR(sum, 310, 3);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(h.counts[i], 0) << i;
  for (std::size_t i = 20; i < 30; ++i)
    EXPECT_NEAR(h.counts[i], 31, 5) << i;
  // Later they have moved, and in the end they are forgotten.
  EXPECT_NEAR(c.handled(at(205)).counts[15], 31, 5);
  EXPECT_EQ(c.handled(at(800)).counts, (std::array<double, 30>{}));
}

TEST(project_counters, times_are_averages_and_nonsense_is_left_out) {
  project_counters c;
  c.record_times(0.5, 0.1, start);
  c.record_times(1.5, std::nullopt, start);
  c.record_times(-1, std::numeric_limits<double>::quiet_NaN(), start);
  c.record_times(std::numeric_limits<double>::infinity(), {}, start);
  const auto avg = c.times(counter_kind::avg, start);
  EXPECT_EQ(avg.fetch_time, 1);
  EXPECT_EQ(avg.process_time, 0.1);
  EXPECT_EQ(c.times(counter_kind::sum, start).fetch_time, 2);
}

TEST(project_counters, come_back_from_their_bytes) {
  project_counters c;
  std::mt19937 random{3};
  auto now = start;
  for (int i = 0; i < 3000; ++i) {
    now += seconds{random() % 60};
    c.record({.pending = 1, .success = static_cast<int>(random() % 2), .failed = 1}, now);
    c.record_times(static_cast<double>(random() % 1000) / 7, 0.25, now);
  }
  const auto bytes = c.save();
  auto back = project_counters::restore(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->save(), bytes);
  now += seconds{20};
  for (const auto w : {counter_window::five_minutes, counter_window::hour, counter_window::day})
    for (const auto k : {counter_kind::sum, counter_kind::avg}) {
      const auto a = c.read(w, k, now);
      const auto b = back->read(w, k, now);
      EXPECT_DOUBLE_EQ(a.pending, b.pending);
      EXPECT_DOUBLE_EQ(a.success, b.success);
      EXPECT_DOUBLE_EQ(a.retry, b.retry);
      EXPECT_DOUBLE_EQ(a.failed, b.failed);
    }
  EXPECT_DOUBLE_EQ(c.times(counter_kind::avg, now).fetch_time,
                   back->times(counter_kind::avg, now).fetch_time);
}

TEST(project_counters, empty_ones_take_few_bytes_and_come_back) {
  const auto bytes = project_counters{}.save();
  EXPECT_LE(bytes.size(), 16U);
  EXPECT_TRUE(project_counters::restore(bytes));
}

TEST(project_counters, bytes_that_are_no_counters_are_refused) {
  EXPECT_FALSE(project_counters::restore(""));
  EXPECT_FALSE(project_counters::restore("hello"));
  project_counters c;
  c.record({.pending = 3, .failed = 1}, start);
  c.record_times(0.5, 0.1, start);
  const auto bytes = c.save();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(project_counters::restore(std::string_view{bytes}.substr(0, n))) << n;
  EXPECT_FALSE(project_counters::restore(bytes + "x"));
  EXPECT_FALSE(project_counters::restore("\x02" + bytes.substr(1)));
  std::mt19937 random{5};
  for (int i = 0; i < 20'000; ++i) {
    auto bad = bytes;
    for (int k = 0; k < 3; ++k)
      bad[random() % bad.size()] = static_cast<char>(random());
    auto r = project_counters::restore(bad);
    if (!r) continue;
    const auto v = r->read(counter_window::day, counter_kind::avg, start);
    EXPECT_FALSE(std::isnan(v.pending));
  }
}

} // namespace
} // namespace lycosa
