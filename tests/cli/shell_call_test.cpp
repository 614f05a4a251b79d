#include "cli/shell_call.hpp"

#include <gtest/gtest.h>

namespace lycosa::cli {
namespace {

using json = nlohmann::ordered_json;

std::string bad(std::string_view line) {
  const auto call = parse_call(line);
  return call ? "(none)" : call.error().text();
}

TEST(shell_call, values_are_written_as_in_python) {
  const auto call = parse_call(
      R"( crawl("http://x/?a=\"1\"", project='p', age=-1.5, data={'k': [1, True, None, {}]},)"
      R"( force_update=False ) )");
  ASSERT_TRUE(call.has_value()) << call.error().text();
  EXPECT_EQ(call->name, "crawl");
  EXPECT_EQ(call->args[0], R"(http://x/?a="1")");
  EXPECT_EQ(call->options["project"], "p");
  EXPECT_EQ(call->options["age"], -1.5);
  EXPECT_EQ(call->options["data"].dump(), R"({"k":[1,true,null,{}]})");
  EXPECT_EQ(call->options["force_update"], false);
  EXPECT_EQ(parse_call("help()")->name, "help");
  EXPECT_EQ(parse_call("help")->name, "help");
  EXPECT_EQ(parse_call("f([])")->args[0].size(), 0U);
}

TEST(shell_call, what_is_wrong_is_shown_with_its_column) {
  for (const auto* line :
       {"", "1", "crawl(", "crawl(http://x/)", "crawl('x'", "crawl('x", "crawl('x') y",
        "crawl(a='x', 'y')", "crawl('x' 'y')", "crawl({1: 2})", "crawl('\\q')", "crawl(--1)"})
    EXPECT_NE(bad(line).find("column "), std::string::npos) << line << ": " << bad(line);
  EXPECT_NE(bad("f(" + std::string(1000, '[')), "(none)");
}

TEST(shell_call, options_go_where_they_belong) {
  const auto task =
      task_of(*parse_call("crawl('u', project='p', priority=3, headers={'A': 'b'}, callback='c')"));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->dump(), R"({"url":"u","project":"p","schedule":{"priority":3},)"
                          R"("fetch":{"headers":{"A":"b"}},"process":{"callback":"c"}})");
  EXPECT_FALSE(task_of(*parse_call("crawl('u', colour=1)")).has_value());
  EXPECT_FALSE(task_of(*parse_call("crawl()")).has_value());
  EXPECT_FALSE(task_of(*parse_call("crawl(1)")).has_value());
}

} // namespace
} // namespace lycosa::cli
