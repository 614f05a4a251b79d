#include "cli/bench/delivery_check.hpp"
#include "cli/bench/histogram.hpp"
#include "cli/bench/plot.hpp"
#include "cli/bench/zipf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <thread>

using namespace lycosa::cli::bench;
using ::testing::HasSubstr;

TEST(histogram, is_empty_at_first) {
  const histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.percentile(50), 0U);
  EXPECT_EQ(h.max(), 0U);
  EXPECT_EQ(h.min(), 0U);
  EXPECT_EQ(h.mean(), 0);
}

TEST(histogram, is_exact_for_small_values) {
  histogram h;
  for (std::uint64_t v = 1; v <= 1000; ++v)
    h.record(v);
  EXPECT_EQ(h.percentile(0), 1U);
  EXPECT_EQ(h.percentile(50), 500U);
  EXPECT_EQ(h.percentile(99), 990U);
  EXPECT_EQ(h.percentile(99.9), 999U);
  EXPECT_EQ(h.percentile(100), 1000U);
  EXPECT_EQ(h.mean(), 500.5);
}

TEST(histogram, keeps_three_digits_of_any_value) {
  for (std::uint64_t v = 1; v < std::uint64_t{1} << 61; v += v / 7 + 1) {
    histogram h;
    h.record(v);
    h.record(v * 2); // so that the maximum does not hide what a bucket says
    const auto got = h.percentile(50);
    EXPECT_GE(got, v);
    EXPECT_LE(static_cast<double>(got - v), static_cast<double>(v) * 0.001) << v;
    EXPECT_EQ(h.min(), v);
    EXPECT_EQ(h.max(), v * 2);
  }
}

TEST(histogram, holds_the_largest_values) {
  histogram h;
  h.record(UINT64_MAX);
  h.record(0);
  EXPECT_EQ(h.percentile(100), std::uint64_t{1} << 62);
  EXPECT_EQ(h.percentile(50), 0U);
}

TEST(histogram, agrees_with_sorted_values) {
  std::mt19937_64 random{7};
  std::lognormal_distribution<double> values{13, 2};
  histogram h;
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<std::uint64_t>(values(random)));
    h.record(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 20'000 - 1e-6));
    const auto exact = static_cast<double>(all[rank - 1]);
    EXPECT_NEAR(static_cast<double>(h.percentile(percent)), exact, exact * 0.001 + 1) << percent;
  }
}

TEST(histogram, merged_is_as_if_recorded_together) {
  histogram a, b, both;
  for (std::uint64_t v = 1; v < 1'000'000; v += v / 3 + 1) {
    (v % 2 == 0 ? a : b).record(v, 3);
    both.record(v, 3);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.min(), both.min());
  EXPECT_EQ(a.max(), both.max());
  EXPECT_DOUBLE_EQ(a.mean(), both.mean());
  for (double p = 0; p <= 100; p += 0.5)
    EXPECT_EQ(a.percentile(p), both.percentile(p));
  a.merge(histogram{});
  EXPECT_EQ(a.count(), both.count());
}

TEST(zipf, ranks_come_up_in_proportion_to_their_place) {
  const zipf sites{100, 1};
  std::vector<int> came(100);
  constexpr int draws = 200'000;
  for (int i = 0; i < draws; ++i)
    ++came.at(sites.rank(fraction(static_cast<std::uint64_t>(i))));
  double harmonic = 0;
  for (int r = 1; r <= 100; ++r)
    harmonic += 1.0 / r;
  for (const int r : {1, 2, 5, 10, 50}) {
    const double expected = draws / harmonic / r;
    EXPECT_NEAR(came[static_cast<std::size_t>(r - 1)], expected, 5 * std::sqrt(expected)) << r;
  }
}

TEST(zipf, without_skew_all_are_alike_and_every_fraction_has_a_rank) {
  const zipf sites{4, 0};
  EXPECT_EQ(sites.rank(0), 0U);
  EXPECT_EQ(sites.rank(0.26), 1U);
  EXPECT_EQ(sites.rank(0.99), 3U);
  EXPECT_EQ(sites.rank(std::nextafter(1.0, 0.0)), 3U);
  EXPECT_EQ((zipf{1, 2}).rank(0.5), 0U);
}

TEST(delivery_check, tells_what_came_twice_and_what_never_did) {
  delivery_check check;
  constexpr std::uint64_t tasks = 3'000'000; // more than one piece of it
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (auto i = t; i < tasks; i += 4)
        if (i != 17 && i != tasks - 1) check.delivered(i);
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(check.twice(), 0U);
  EXPECT_EQ(check.lost(tasks), 2U);
  check.delivered(5);
  check.delivered(17);
  EXPECT_EQ(check.twice(), 1U);
  EXPECT_EQ(check.lost(tasks), 1U);
  check.forget();
  EXPECT_EQ(check.lost(10), 10U);
  check.delivered(5);
  EXPECT_EQ(check.twice(), 1U);
}

namespace {

/// Whether every element is closed in order and every attribute quoted: enough of XML for what the
/// plot writes.
bool well_formed(const std::string& text) {
  static const std::regex tag{R"re(<(/?)([a-z]+)((?:\s+[A-Za-z0-9:-]+="[^"<]*")*)\s*(/?)>)re"};
  std::vector<std::string> open;
  std::size_t at = 0;
  for (std::sregex_iterator i{text.begin(), text.end(), tag}, end; i != end; ++i) {
    const auto start = static_cast<std::size_t>(i->position());
    if (text.substr(at, start - at).find('<') != std::string::npos) return false;
    at = start + static_cast<std::size_t>(i->length());
    if ((*i)[1].length() > 0) {
      if (open.empty() || open.back() != (*i)[2]) return false;
      open.pop_back();
    } else if ((*i)[4].length() == 0) {
      open.push_back((*i)[2]);
    }
  }
  static const std::regex entity{"&(?!amp;|lt;|gt;|quot;)"};
  return open.empty() && text.find('<', at) == std::string::npos
         && !std::regex_search(text, entity);
}

} // namespace

TEST(plot, is_well_formed_whatever_it_is_called) {
  plot p;
  p.title = R"(a <b> & "c")";
  p.x_title = "time (s)";
  p.y_title = "tasks a second";
  p.lines = {{"one", {{0, 1}, {1, 200'000}, {2, 3e7}}}, {"<two>", {{0, 0}, {2, 5}}}};
  const auto svg = to_svg(p);
  EXPECT_TRUE(well_formed(svg)) << svg;
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr("time (s)"));
  EXPECT_THAT(svg, HasSubstr("tasks a second"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr("&lt;two&gt;")); // a legend tells two lines apart
}

TEST(plot, of_nothing_is_still_a_plot) {
  plot p;
  p.lines = {{"empty", {}}};
  EXPECT_TRUE(well_formed(to_svg(p)));
  p.lines = {{"flat", {{0, 0}, {1, 0}}}};
  const auto svg = to_svg(p);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(plot, round_numbers_are_1_2_and_5) {
  EXPECT_EQ(round_up(0), 1);
  EXPECT_EQ(round_up(0.9), 1);
  EXPECT_EQ(round_up(1), 1);
  EXPECT_EQ(round_up(1.1), 2);
  EXPECT_EQ(round_up(300), 500);
  EXPECT_EQ(round_up(51'000), 100'000);
  EXPECT_DOUBLE_EQ(round_up(0.003), 0.005);
}
