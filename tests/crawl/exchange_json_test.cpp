#include "crawl/exchange_json.hpp"
#include <gtest/gtest.h>

namespace lycosa::crawl {
namespace {

std::string refusal(const std::string& answer) {
  const auto got = read_answer(answer, "p");
  return got ? "" : got.error().text();
}

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[')
         + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(exchange_json, an_answer_says_whether_the_task_is_done) {
  EXPECT_TRUE(read_answer(R"({"id":1,"ok":true})", "p")->ok);
  EXPECT_FALSE(read_answer(R"({"id":1,"ok":false})", "p")->ok);
  EXPECT_FALSE(read_answer(R"({"id":1})", "p")->ok);
}

TEST(exchange_json, an_ok_of_another_type_is_refused) {
  for (const auto* ok : {"\"yes\"", "null", "1", "[]", "{}"})
    EXPECT_NE(refusal(std::string{R"({"id":1,"ok":)"} + ok + "}").find("true or false"),
              std::string::npos)
        << ok;
}

TEST(exchange_json, members_of_other_types_count_as_absent) {
  const auto got = read_answer(
      R"({"ok":true,"follows":{},"messages":[[1,2],["a"],[],7],"logs":5,"exception":[],"time":"x"})",
      "p");
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->follows.empty());
  EXPECT_TRUE(got->messages.empty());
  EXPECT_EQ(got->logs, "");
}

TEST(exchange_json, what_is_nested_too_deeply_is_refused_wherever_it_stands) {
  for (const auto* member : {"result", "save", "follows", "messages", "unknown"}) {
    const std::string head = std::string{R"({"ok":true,")"} + member + "\":";
    EXPECT_NE(refusal(head + nested(1'000'000) + "}").find("nested too deeply"), std::string::npos);
  }
  EXPECT_EQ(refusal(R"({"ok":true,"result":)" + nested(deepest_answer - 1) + "}"), "");
  EXPECT_NE(refusal(R"({"ok":true,"result":)" + nested(deepest_answer) + "}"), "");
}

TEST(exchange_json, what_is_no_json_is_refused) {
  for (const auto* text : {"", "[]", "{", "\xff", R"({"ok":true,"result":NaN})"})
    EXPECT_NE(refusal(text).find("not JSON"), std::string::npos) << text;
}

TEST(exchange_json, a_track_keeps_the_end_of_long_logs_and_exceptions) {
  script_answer a;
  a.logs = std::string(100'000, 'x') + "the end of the logs";
  a.exception = std::string(100'000, 'x') + "ValueError: broken";
  const auto track = to_track({}, a);
  EXPECT_LT(track.size(), 10'000U);
  EXPECT_NE(track.find("the end of the logs"), std::string::npos);
  EXPECT_NE(track.find("ValueError: broken"), std::string::npos);
}

TEST(exchange_json, the_end_of_a_text_begins_with_a_whole_character) {
  EXPECT_EQ(end_of("abc", 10), "abc");
  EXPECT_EQ(end_of("abcdef", 3), "def");
  EXPECT_EQ(end_of("\u00e4\u00e4", 3), "\u00e4");
}

} // namespace
} // namespace lycosa::crawl
