#include "crawl/processor.hpp"
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace lycosa::crawl {
namespace {

result<std::string> ask(processor& p, std::string request) {
  std::promise<result<std::string>> got;
  p.process(std::move(request), [&](result<std::string> a) { got.set_value(std::move(a)); });
  return got.get_future().get();
}

std::unique_ptr<processor> script(const std::string& shell, usec limit = std::chrono::minutes{1}) {
  processor_config c;
  c.project = "p";
  c.command = {"/bin/sh", "-c", shell};
  c.time_limit = limit;
  return processor::make(std::move(c));
}

TEST(processor, asks_and_hears_line_by_line) {
  const auto p = script("while read -r line; do echo noise; echo \"$line\"; done");
  EXPECT_EQ(ask(*p, R"({"a":1})").value_or(""), R"({"id":1,"a":1})");
  EXPECT_EQ(ask(*p, R"({"a":2})").value_or(""), R"({"id":2,"a":2})");
}

TEST(processor, one_that_ends_fails_its_task_and_is_started_again) {
  const auto p = script("read -r line; echo \"$line\"");
  EXPECT_TRUE(ask(*p, R"({"a":1})").has_value());
  EXPECT_FALSE(ask(*p, R"({"a":2})").has_value());
  EXPECT_TRUE(ask(*p, R"({"a":3})").has_value());
}

TEST(processor, one_that_hangs_is_killed_at_its_time_limit) {
  const auto p = script("sleep 1000", std::chrono::milliseconds{50});
  const auto got = ask(*p, "{\"a\":1}");
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().text().find("time limit"), std::string::npos);
}

TEST(processor, one_that_does_not_read_is_killed_at_its_time_limit_too) {
  const auto p = script("sleep 1000", std::chrono::milliseconds{50});
  const auto got = ask(*p, R"({"a":")" + std::string(1 << 20, 'x') + R"("})");
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().text().find("time limit"), std::string::npos);
}

TEST(processor, one_that_writes_a_lot_before_it_reads_is_heard) {
  const auto p = script("seq 200000; while read -r line; do echo '{\"id\":1,'; done");
  const auto got = ask(*p, R"({"a":")" + std::string(1 << 20, 'x') + R"("})");
  ASSERT_TRUE(got.has_value()) << got.error().text();
  EXPECT_EQ(*got, R"({"id":1,)");
}

TEST(processor, what_cannot_be_started_is_told) {
  processor_config c;
  c.command = {"/no/such/program"};
  const auto p = processor::make(std::move(c));
  EXPECT_FALSE(ask(*p, "{\"a\":1}").has_value());
}

TEST(processor, a_stop_answers_what_is_under_way_and_what_waits) {
  const auto p = script("sleep 1000");
  std::atomic<int> answered{0};
  for (int i = 0; i < 3; ++i)
    p->process("{\"a\":1}", [&](const result<std::string>& a) {
      EXPECT_FALSE(a.has_value());
      ++answered;
    });
  p->stop();
  EXPECT_EQ(answered, 3);
}

} // namespace
} // namespace lycosa::crawl
