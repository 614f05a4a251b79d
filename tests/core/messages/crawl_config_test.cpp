#include "core/messages/crawl_config.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

std::string fetch_of(std::string_view config, std::string_view fetch) {
  std::string out;
  return crawl_config{config}.join_fetch(fetch, out) ? out : "(unchanged)";
}

TEST(crawl_config, adds_what_a_task_lacks) {
  EXPECT_EQ(fetch_of(R"({"timeout":30,"proxy":"p:1"})", ""), R"({"timeout":30,"proxy":"p:1"})");
  EXPECT_EQ(fetch_of(R"({"timeout":30})", "{ }"), R"({"timeout":30})");
  EXPECT_EQ(fetch_of(R"({"timeout":30})", R"({"method":"GET"})"),
            R"({"method":"GET","timeout":30})");
}

TEST(crawl_config, what_the_task_says_wins) {
  EXPECT_EQ(fetch_of(R"({"timeout":30})", R"({"timeout":5})"), "(unchanged)");
}

TEST(crawl_config, where_both_have_objects_the_members_are_joined) {
  EXPECT_EQ(
      fetch_of(R"({"headers":{"A":"1","B":"2"}})", R"({"headers": {"B":"x"} ,"timeout":1e2})"),
      R"({"headers":{"B":"x","A":"1"},"timeout":1e2})");
  EXPECT_EQ(fetch_of(R"({"headers":{"A":"1"}})", R"({"headers":{}})"), R"({"headers":{"A":"1"}})");
  EXPECT_EQ(fetch_of(R"({"headers":{"A":"1"}})", R"({"headers":null})"), "(unchanged)");
}

TEST(crawl_config, keys_that_are_no_fetch_keys_stay_out) {
  EXPECT_EQ(fetch_of(R"({"age":1,"itag":"v","callback":"f"})", "{}"), "(unchanged)");
  std::string out;
  EXPECT_TRUE(crawl_config{R"({"age":1,"callback":"f"})"}.join_process("", out));
  EXPECT_EQ(out, R"({"callback":"f"})");
}

TEST(crawl_config, values_stay_byte_for_byte_whatever_they_hold) {
  const std::string odd = R"({"data":"a\"}{,\\","save":{"n":1.000,"deep":[{"x":[1,{}]}, "]"]}})";
  EXPECT_EQ(fetch_of(R"({"timeout":1})", odd),
            R"({"data":"a\"}{,\\","save":{"n":1.000,"deep":[{"x":[1,{}]}, "]"]},"timeout":1})");
}

TEST(crawl_config, what_is_no_object_has_no_members) {
  for (const auto* text : {"", "null", "[1]", "\"x\"", "12", "{"})
    EXPECT_TRUE(json_members(text).empty()) << text;
  EXPECT_EQ(fetch_of("null", "{}"), "(unchanged)");
  EXPECT_EQ(fetch_of(R"({"timeout":1})", "null"), "(unchanged)");
}

} // namespace
} // namespace lycosa
