#include "core/messages/info_reply.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

using namespace std::chrono_literals;

TEST(info_reply, an_empty_answer_is_an_answer) {
  for (const auto* track :
       {"", "{}", R"({"save":null})", R"({"save":{}})", R"({"fetch":{"ok":true}})",
        R"({"save":{"min_tick":null,"retry_delay":null,"crawl_config":null}})"}) {
    const auto got = read_info_reply(track);
    ASSERT_TRUE(got.has_value()) << track;
    EXPECT_FALSE(got->min_tick || got->retry || got->crawl_config) << track;
  }
}

TEST(info_reply, reads_the_three_values) {
  const auto got = read_info_reply(
      R"({"save":{"min_tick":30,"retry_delay":{"0":5,"1":10.5,"":60},"crawl_config":{"timeout":3}}})");
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->min_tick, 30s);
  ASSERT_TRUE(got->retry);
  EXPECT_EQ(got->retry->delay(0), 5s);
  EXPECT_EQ(got->retry->delay(1), 10'500ms);
  EXPECT_EQ(got->retry->delay(7), 60s);
  EXPECT_EQ(got->crawl_config, R"({"timeout":3})");
}

TEST(info_reply, what_makes_no_sense_is_named) {
  const std::pair<const char*, const char*> cases[]{
      {"x", "track"},
      {R"({"save":[1]})", "track.save"},
      {R"({"save":{"min_tick":"often"}})", "track.save.min_tick"},
      {R"({"save":{"min_tick":-1}})", "track.save.min_tick"},
      {R"({"save":{"min_tick":1e300}})", "track.save.min_tick"},
      {R"({"save":{"retry_delay":3}})", "track.save.retry_delay"},
      {R"({"save":{"retry_delay":{"x":3}}})", "track.save.retry_delay"},
      {R"({"save":{"retry_delay":{"-1":3}}})", "track.save.retry_delay"},
      {R"({"save":{"retry_delay":{"0":null}}})", "track.save.retry_delay"},
      {R"({"save":{"crawl_config":[]}})", "track.save.crawl_config"}};
  for (const auto& [track, field] : cases) {
    const auto got = read_info_reply(track);
    ASSERT_FALSE(got.has_value()) << track;
    EXPECT_EQ(got.error().what, field);
  }
}

} // namespace
} // namespace lycosa
