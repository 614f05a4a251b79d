#include "migrate/rows.hpp"
#include "migrate/sqlite.hpp"
#include <gtest/gtest.h>

namespace lycosa::migrate {
namespace {

task_row row() {
  task_row r;
  r.taskid = "t";
  r.project = "p";
  r.url = "http://x/?a=\"b\"";
  r.status = 2;
  r.schedule = R"({"priority": 1.0})";
  r.track = " null ";
  r.lastcrawltime = 1'600'000'000.25;
  return r;
}

TEST(rows, a_task_becomes_a_line_with_its_parts_as_they_were) {
  EXPECT_EQ(to_line(row()).value_or(""),
            R"({"project":"p","taskid":"t","url":"http://x/?a=\"b\"","status":2,)"
            R"("lastcrawltime":1600000000.25,"updatetime":0.0,"schedule":{"priority": 1.0}})");
}

TEST(rows, parts_that_are_no_objects_are_named) {
  for (const auto* bad : {"{", "[1]", "1", "x", "{\"a\":NaN}"}) {
    auto r = row();
    r.fetch = bad;
    const auto line = to_line(r);
    ASSERT_FALSE(line.has_value()) << bad;
    EXPECT_EQ(line.error(), "fetch: is not a JSON object");
  }
}

TEST(rows, text_that_is_not_utf8_and_times_that_are_none_do_not_break_the_line) {
  auto r = row();
  r.url = "\xff";
  r.updatetime = -1;
  EXPECT_NE(to_line(r).value_or("").find("\xef\xbf\xbd"), std::string::npos);
}

TEST(rows, a_result_keeps_its_value) {
  EXPECT_EQ(to_line("p", {"t", "u", R"({"a": [1]})", 5}).value_or(""),
            R"({"project":"p","taskid":"t","url":"u","result":{"a": [1]},"updatetime":5.0})");
  EXPECT_NE(to_line("p", {"t", "u", "", 0}).value_or("").find("\"result\":null"),
            std::string::npos);
  EXPECT_FALSE(to_line("p", {"t", "u", "{", 0}).has_value());
}

TEST(rows, pyspiders_urls_name_files) {
  EXPECT_EQ(sqlite_path("sqlite+taskdb:////data/task.db"), "/data/task.db");
  EXPECT_EQ(sqlite_path("sqlite:///no/such/task.db"), "no/such/task.db");
  EXPECT_EQ(sqlite_path("mysql://h/d"), "");
  for (const auto* url : {"", "x", "mongodb://h/d", "sqlite"})
    EXPECT_EQ(open_tasks(url).error().code, errc::invalid_argument) << url;
  EXPECT_EQ(open_tasks("sqlite:////no/such/file").error().code, errc::not_found);
}

} // namespace
} // namespace lycosa::migrate
