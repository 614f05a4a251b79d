#include "gateway/trace_context.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lycosa::gateway {
namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string good = "00-" + trace + "-00f067aa0ba902b7-01";

TEST(trace_context, finds_the_trace) {
  EXPECT_EQ(trace_id(good), trace);
}

TEST(trace_context, takes_later_versions_that_say_more) {
  EXPECT_EQ(trace_id("01" + good.substr(2)), trace);
  EXPECT_EQ(trace_id("cc" + good.substr(2) + "-what-comes"), trace);
  EXPECT_EQ(trace_id("cc" + good.substr(2) + ".what-comes"), "");
}

TEST(trace_context, takes_nothing_that_is_not_one) {
  EXPECT_EQ(trace_id(""), "");
  EXPECT_EQ(trace_id("no trace, but a header that is long enough for being one"), "");
  EXPECT_EQ(trace_id(good.substr(1)), "");
  EXPECT_EQ(trace_id(good + "-more"), "");
  EXPECT_EQ(trace_id("ff" + good.substr(2)), "");
  EXPECT_EQ(trace_id("00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"), "");
  EXPECT_EQ(trace_id("00-" + trace + "-" + std::string(16, '0') + "-01"), "");
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char wrong : {'G', 'A', '\n', ' ', '_'}) {
      auto text = good;
      text[i] = wrong;
      EXPECT_EQ(trace_id(text), "") << text;
    }
}

} // namespace
} // namespace lycosa::gateway
