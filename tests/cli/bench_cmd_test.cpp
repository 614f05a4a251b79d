#include "tests/cli/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using lycosa::cli::testing::ran;
using lycosa::cli::testing::run_cli;
using ::testing::HasSubstr;
using json = nlohmann::json;

namespace {

/// A run on a node in this process, which must succeed; its figures.
json bench(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
  words.insert(words.begin(), "bench");
  words.insert(words.end(), {"--embedded", "--json", "--set", "storage.shards=1"});
  words.insert(words.end(), more.begin(), more.end());
  auto r = run_cli(words);
  EXPECT_EQ(r.code, 0) << r.err;
  return json::parse(r.out, nullptr, false);
}

void expect_exact(const json& f, std::uint64_t delivered) {
  ASSERT_TRUE(f.is_object());
  EXPECT_EQ(f["leased"], delivered);
  EXPECT_EQ(f["settled"], delivered);
  EXPECT_EQ(f["delivered_twice"], 0);
  EXPECT_EQ(f["lost"], 0);
  EXPECT_EQ(f["exact"], true);
  EXPECT_GT(f["tasks_per_second"], 0);
  EXPECT_GT(f["seconds"], 0);
}

const std::vector<std::string> few{"--tasks", "300", "--batch", "50", "--connections", "2"};

} // namespace

TEST(bench, lifecycle_settles_every_task_once) {
  auto f = bench({"lifecycle"}, few);
  expect_exact(f, 300);
  EXPECT_EQ(f["workload"], "lifecycle");
  EXPECT_EQ(f["tasks"], 300);
  EXPECT_EQ(f["batch"], 50);
  EXPECT_EQ(f["connections"], 2);
  EXPECT_EQ(f["submitted"], 300);
  EXPECT_EQ(f["latency_ms"]["submit_call"]["count"], 6);
}

TEST(bench, an_open_loop_counts_from_when_a_request_was_due) {
  auto f = bench({"lifecycle", "--rate", "5000"}, few);
  expect_exact(f, 300);
  EXPECT_EQ(f["rate"], 5000);
  EXPECT_EQ(f["latency_ms"]["submit_due"]["count"], 6);
  EXPECT_EQ(f["latency_ms"]["due_to_lease"]["count"], 300);
}

TEST(bench, submit_leaves_the_tasks_queued) {
  auto f = bench({"submit"}, few);
  EXPECT_EQ(f["submitted"], 300);
  EXPECT_EQ(f["leased"], 0);
  EXPECT_EQ(f["exact"], true);
  EXPECT_EQ(bench({"submit", "--rate", "5000"}, few)["submitted"], 300);
}

TEST(bench, lease_and_report_are_measured_alone) {
  auto leases = bench({"lease"}, few);
  expect_exact(leases, 300);
  EXPECT_TRUE(leases["latency_ms"].contains("lease_call"));
  EXPECT_FALSE(leases["latency_ms"].contains("report_call"));
  auto reports = bench({"report"}, few);
  expect_exact(reports, 300);
  EXPECT_FALSE(reports["latency_ms"].contains("lease_call"));
  EXPECT_FALSE(reports["latency_ms"].contains("submit_call"));
}

TEST(bench, of_duplicates_each_is_delivered_once) {
  auto f = bench({"duplicates", "--share", "0.4"}, few);
  expect_exact(f, 300); // 120 known before, and 180 new ones
  EXPECT_EQ(f["known_tasks_sent"], 120);
  EXPECT_EQ(f["submitted"], 420);
  expect_exact(bench({"duplicates", "--share", "0"}, few), 301);
  expect_exact(bench({"duplicates", "--share", "1"}, few), 300);
}

TEST(bench, hosts_spreads_tasks_over_projects) {
  auto f = bench({"hosts", "--projects", "20", "--skew", "0.5"}, few);
  expect_exact(f, 300);
  EXPECT_EQ(f["projects_with_tasks"], 20);
}

TEST(bench, delayed_tells_how_late_tasks_come) {
  auto f = bench({"delayed", "--spread", "0.2"}, few);
  expect_exact(f, 300);
  EXPECT_EQ(f["latency_ms"]["lateness"]["count"], 300);
}

TEST(bench, recrawl_crawls_each_task_once_a_round) {
  auto f = bench({"recrawl", "--rounds", "3"}, few);
  expect_exact(f, 900);
  EXPECT_EQ(f["tasks"], 600); // the first round is not measured
}

TEST(bench, jobs_deliver_a_task_each_time) {
  for (const std::string trigger : {"date", "interval"}) {
    auto f = bench({"jobs", "--jobs", "20", "--seconds", "2", "--trigger", trigger});
    expect_exact(f, 40);
    EXPECT_EQ(f["jobs"], trigger == "date" ? 40 : 20);
    EXPECT_EQ(f["latency_ms"]["lateness"]["count"], 40);
    EXPECT_EQ(f["latency_ms"]["run_lateness"]["count"], 40);
  }
  expect_exact(bench({"jobs", "--jobs", "20", "--seconds", "1", "--together"}), 20);
}

TEST(bench, latency_is_an_open_loop) {
  auto f = bench({"latency", "--tasks", "50", "--connections", "4"});
  expect_exact(f, 50);
  EXPECT_EQ(f["rate"], 1000);
  EXPECT_EQ(f["batch"], 1);
}

TEST(bench, soak_tells_how_it_goes_and_checks_all_at_the_end) {
  auto r = run_cli({"bench", "soak", "--embedded", "--seconds", "0.5", "--interval", "0.1",
                    "--batch", "50", "--connections", "2", "--set", "storage.shards=1"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" settled, "));
  EXPECT_THAT(r.out, HasSubstr("lost 0"));
}

TEST(bench, soak_at_a_rate_sends_what_is_due_before_its_end_and_no_more) {
  const std::vector<std::string> words{
      "bench",  "soak", "--embedded", "--seconds", "0.5",
      "--rate", "100",  "--json",     "--set",     "storage.shards=1"};
  auto r = run_cli(words);
  ASSERT_EQ(r.code, 0) << r.err;
  auto f = json::parse(r.out);
  expect_exact(f, 50);
  EXPECT_EQ(f["batch"], 10);
  auto with_batch = words;
  with_batch.insert(with_batch.end(), {"--batch", "1000"});
  r = run_cli(with_batch);
  ASSERT_EQ(r.code, 0) << r.err;
  f = json::parse(r.out);
  expect_exact(f, 50);
  EXPECT_EQ(f["batch"], 1000);
}

TEST(bench, several_runs_are_told_by_the_median_with_all_rates) {
  auto f = bench({"lifecycle", "--repeat", "3"}, few);
  expect_exact(f, 300);
  auto all = f["all_tasks_per_second"].get<std::vector<double>>();
  ASSERT_EQ(all.size(), 3U);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(f["tasks_per_second"], all[1]);
}

TEST(bench, writes_plots_and_keeps_a_named_directory) {
  auto folder =
      std::filesystem::temp_directory_path() / ("lycosa-bench-test-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  for (const std::string workload : {"lifecycle", "latency"}) {
    auto plot = (folder / (workload + ".svg")).string();
    auto data = (folder / workload).string();
    bench({workload, "--svg", plot, "--data", data, "--tasks", "50"});
    std::ifstream in{plot};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    EXPECT_THAT(text, HasSubstr("lycosa bench " + workload));
    EXPECT_THAT(text, HasSubstr(workload == "latency" ? "milliseconds" : "tasks a second"));
    EXPECT_THAT(text, HasSubstr("</svg>"));
    EXPECT_TRUE(std::filesystem::exists(data));
  }
  std::filesystem::remove_all(folder);
  auto r = run_cli({"bench", "submit", "--embedded", "--tasks", "10", "--svg", "/nonexistent/x"});
  EXPECT_EQ(r.code, 1);
}

TEST(bench, refuses_what_it_cannot_do) {
  for (std::vector<std::string> words :
       {std::vector<std::string>{},
        {"nonsense"},
        {"lifecycle", "--tasks", "0"},
        {"lifecycle", "--batch", "10001"},
        {"lifecycle", "--rate", "0"},
        {"duplicates", "--share", "1.5"},
        {"jobs", "--trigger", "cron"},
        {"jobs", "--tasks", "5"},
        {"restart", "--embedded"},
        {"memory", "--server", "http://127.0.0.1:1"},
        {"lifecycle", "--server", "127.0.0.1:1"},
        {"lifecycle", "--embedded", "--set", "no.key=1"},
        {"lifecycle", "--server", "http://127.0.0.1:1", "--embedded"}}) {
    words.insert(words.begin(), "bench");
    auto r = run_cli(words);
    EXPECT_EQ(r.code, 2) << ::testing::PrintToString(words) << r.err;
    EXPECT_EQ(r.out, "");
  }
  EXPECT_EQ(run_cli({"bench", "lifecycle", "--server", "http://127.0.0.1:1"}).code, 3);
}

TEST(bench, a_node_that_delivers_twice_fails_the_run) {
  std::string run;
  lycosa::cli::testing::fake_node node{[&](const lycosa::cli::testing::request& r) {
    lycosa::cli::testing::response answer;
    if (r.target == "/v1/tasks") {
      const auto at = r.body.find("\"taskid\":\"") + 10;
      run = r.body.substr(at, r.body.find('"', at) - at - 1);
      answer.body = R"({"new":2,"restarted":0,"ignored":0,"cancelled":0,"rejected":[]})";
    } else if (r.target == "/v1/lease") {
      const std::string lease(48, 'x');
      answer.body = R"({"tasks":[{"taskid":")" + run + R"(0","lease":")" + lease + R"("}]})";
    } else {
      answer.body = R"({"done":1,"retried":0,"failed":0,"rejected":[]})";
    }
    return answer;
  }};
  auto r = run_cli({"bench", "lifecycle", "--server", node.url(), "--tasks", "2", "--connections",
                    "1", "--json"});
  EXPECT_EQ(r.code, 1);
  auto f = json::parse(r.out);
  EXPECT_EQ(f["delivered_twice"], 1);
  EXPECT_EQ(f["lost"], 1);
  EXPECT_EQ(f["exact"], false);
  EXPECT_THAT(r.err, HasSubstr("twice"));
}
