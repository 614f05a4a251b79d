#include "conf/units.hpp"

#include <gtest/gtest.h>

using namespace lycosa;
using namespace lycosa::conf;
using namespace std::chrono_literals;

TEST(duration, reads_every_unit_of_the_contract) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("5s").value(), 5s);
  EXPECT_EQ(parse_duration("10m").value(), 10min);
  EXPECT_EQ(parse_duration("24h").value(), 24h);
  EXPECT_EQ(parse_duration("7d").value(), 168h);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
}

TEST(duration, a_bare_number_is_seconds) {
  EXPECT_EQ(parse_duration("90").value(), 90s);
  EXPECT_EQ(parse_duration("0.25").value(), 250ms);
}

TEST(duration, refuses_nonsense_and_negative_and_endless_ones) {
  for (auto text : {"", "s", "5 parsecs", "-5s", "nan", "inf", "1e400", "5s5", "999999d"})
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
}

TEST(duration, is_printed_in_the_largest_exact_unit_and_reads_back) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(600s), "10m");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(1500us), "1500us");
  for (usec d : {usec{1}, usec{999'999}, usec{3'600'000'000}, usec{86'400'000'001}})
    EXPECT_EQ(parse_duration(format_duration(d)).value(), d);
}

TEST(size, reads_and_prints_binary_units) {
  EXPECT_EQ(parse_size("64MiB").value(), mib(64));
  EXPECT_EQ(parse_size("1024").value(), kib(1));
  EXPECT_EQ(parse_size("256B").value().count, 256u);
  EXPECT_EQ(parse_size("0.5GiB").value(), mib(512));
  EXPECT_EQ(format_size(mib(64)), "64MiB");
  EXPECT_EQ(format_size({1000}), "1000B");
  for (auto text : {"", "64MB", "-1", "MiB", "99999999TiB"})
    EXPECT_FALSE(parse_size(text).has_value()) << text;
}

TEST(endpoint, splits_host_and_port) {
  auto v4 = parse_endpoint("127.0.0.1:8040").value();
  EXPECT_EQ(v4.host, "127.0.0.1");
  EXPECT_EQ(v4.port, 8040);
  auto v6 = parse_endpoint("[::1]:0").value();
  EXPECT_EQ(v6.host, "::1");
  EXPECT_EQ(v6.port, 0);
  for (auto text : {"", "localhost", ":80", "::1:80", "h:", "h:65536", "h:8x", "h:-1"})
    EXPECT_FALSE(parse_endpoint(text).has_value()) << text;
}
