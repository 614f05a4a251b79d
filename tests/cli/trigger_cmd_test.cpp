#include "tests/cli/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using lycosa::cli::testing::run_cli;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

TEST(trigger_next, prints_one_time_a_line_with_its_offset) {
  const auto r = run_cli({"trigger", "next", "30 2 * * mon-fri", "--tz", "Europe/Berlin", "--from",
                          "2024-03-28T00:00:00", "-n", "3"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "2024-03-28T02:30:00+01:00\n2024-03-29T02:30:00+01:00\n"
                   "2024-04-01T02:30:00+02:00\n");
  EXPECT_EQ(r.err, "");
}

TEST(trigger_next, takes_every_way_of_writing_a_trigger) {
  const auto first = [](std::vector<std::string> spec) {
    std::vector<std::string> args{"trigger", "next"};
    args.insert(args.end(), spec.begin(), spec.end());
    for (const char* more : {"--from", "2024-05-15T10:30:00Z", "--tz", "UTC", "-n", "1"})
      args.emplace_back(more);
    const auto r = run_cli(args);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.out;
  };
  EXPECT_EQ(first({"@daily"}), "2024-05-16T00:00:00+00:00\n");
  EXPECT_EQ(first({"0", "12", "*", "*", "*"}), "2024-05-15T12:00:00+00:00\n");
  EXPECT_EQ(first({"every 90s"}), "2024-05-15T10:31:30+00:00\n");
  EXPECT_EQ(first({"oncalendar: Mon 09:00 Asia/Tokyo"}), "2024-05-20T09:00:00+09:00\n");
  EXPECT_EQ(first({R"({"type":"cron","day":"last fri"})"}), "2024-05-31T00:00:00+00:00\n");
}

TEST(trigger_next, says_nothing_about_what_never_happens) {
  const auto r = run_cli({"trigger", "next", R"({"type":"cron","month":4,"day":31})"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out + r.err, "");
}

TEST(trigger_next, asks_for_times_after_the_previous_run) {
  const auto r = run_cli({"trigger", "next", "every 10m", "--previous", "2024-05-01T00:03:00Z",
                          "--from", "2024-05-01T00:05:00Z", "--tz", "UTC", "-n", "1"});
  EXPECT_EQ(r.out, "2024-05-01T00:13:00+00:00\n");
}

TEST(trigger_next, explains_before_it_lists) {
  const auto r = run_cli({"trigger", "next", "0 9 * * 1", "--explain", "-n", "1", "--tz", "UTC"});
  EXPECT_THAT(r.out, StartsWith("At 09:00, on Monday, in UTC."));
}

TEST(trigger_next, refuses_with_the_field_and_the_reason) {
  const auto bad = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"trigger", "next"});
    const auto r = run_cli(args);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_THAT(bad({"0 24 * * *"}), StartsWith("lycosa: hour: column 3: 24 is above"));
  EXPECT_THAT(bad({"@daily", "--tz", "Mars"}), StartsWith("lycosa: timezone: "));
  EXPECT_THAT(bad({"@daily", "--from", "soon"}), StartsWith("lycosa: from: "));
  EXPECT_THAT(bad({R"({"type":"interval"})"}), HasSubstr("longer than nothing"));
}

} // namespace
