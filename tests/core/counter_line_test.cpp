#include "core/counter_line.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

TEST(counter_line, says_nothing_when_nothing_happened) {
  EXPECT_EQ(counter_line({}), "");
  EXPECT_EQ(counter_line({{"a", {}}}), "");
}

TEST(counter_line, sums_up_and_names_the_busy_and_those_that_fail) {
  EXPECT_EQ(
      counter_line({{"a", {1, 2, 3, 0}}, {"b", {9, 9, 9, 0}}, {"idle", {}}, {"f", {0, 0, 0, 4}}}),
      "in 5m: new:10,success:11,retry:12,failed:4 b:9,9,9,0 a:1,2,3,0 f:0,0,0,4");
}

TEST(counter_line, names_five_at_most) {
  std::vector<std::pair<std::string, event_values>> many;
  for (int i = 0; i < 100; ++i)
    many.push_back({"p" + std::to_string(i), {double(i), 0, 0, i % 10 == 0 ? 1.0 : 0.0}});
  const auto line = counter_line(many);
  EXPECT_EQ(std::count(line.begin(), line.end(), ' '), 2 + 5);
  EXPECT_NE(line.find(" p99:"), std::string::npos);
  EXPECT_EQ(line.find(" p50:"), std::string::npos);
}

} // namespace
} // namespace lycosa
