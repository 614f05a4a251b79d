#include "gateway/numbers.hpp"

#include <gtest/gtest.h>

namespace lycosa::gateway {
namespace {

TEST(numbers, seconds_are_read_and_written_to_the_microsecond) {
  for (const auto& [text, count] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"0", 0},
           {"-1", -1'000'000},
           {"0.000001", 1},
           {"1700000000.123457", 1700000000123457},
           {"-0.5", -500'000},
           {"1700000000", 1700000000000000},
           {"12.3", 12'300'000}}) {
    ASSERT_TRUE(parse_seconds(text)) << text;
    EXPECT_EQ(parse_seconds(text)->count(), count) << text;
    std::string out;
    append_seconds(out, usec{count});
    EXPECT_EQ(out, text);
  }
}

TEST(numbers, seconds_take_exponents_and_round_what_is_finer) {
  EXPECT_EQ(parse_seconds("1.5e3")->count(), 1'500'000'000);
  EXPECT_EQ(parse_seconds("15E-1")->count(), 1'500'000);
  EXPECT_EQ(parse_seconds("0.0000005")->count(), 1);
  EXPECT_EQ(parse_seconds("0.00000049")->count(), 0);
  EXPECT_EQ(parse_seconds("0.9999999")->count(), 1'000'000);
  EXPECT_EQ(parse_seconds("1e-400")->count(), 0);
  EXPECT_EQ(parse_seconds("0e99999999999999999999")->count(), 0);
  EXPECT_FALSE(parse_seconds("1e13"));
  EXPECT_FALSE(parse_seconds("1e99999999999999999999"));
}

TEST(numbers, integers_are_integers) {
  EXPECT_EQ(parse_integer("-7"), -7);
  EXPECT_FALSE(parse_integer("1.0"));
  EXPECT_FALSE(parse_integer("1e2"));
  EXPECT_FALSE(parse_integer("99999999999999999999"));
}

} // namespace
} // namespace lycosa::gateway
