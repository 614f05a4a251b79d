#include "gateway/metric_families.hpp"
#include "gateway/router.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/exposition.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace lycosa::gateway {
namespace {

using testing::IsEmpty;

constexpr std::array bounds{0.1, 1.0};

std::string read(const std::string& file) {
  std::ifstream in(LYCOSA_SOURCE_DIR "/" + file);
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Whatever looks like one of our metrics.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> out;
  const auto in_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
  for (const std::string prefix : {"lycosa_", "process_"})
    for (std::size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
      const auto begin = at;
      while (at < text.size() && in_name(text[at]))
        ++at;
      if (begin == 0 || !in_name(text[begin - 1])) out.insert(text.substr(begin, at - begin));
    }
  return out;
}

/// The names a family's samples go by.
std::set<std::string> sample_names(const exposition& e) {
  std::set<std::string> out;
  for (const auto& [name, f] : e.families) {
    if (f.type != "histogram") {
      out.insert(name);
      continue;
    }
    for (const std::string suffix : {"_bucket", "_sum", "_count"})
      out.insert(name + suffix);
  }
  return out;
}

struct metrics_page : testing::Test {
  void SetUp() override {
    server_config config;
    config.port = 0;
    config.threads = 1;
    config.metrics_projects = 7;
    config.version = "1.2\"3\\";
    auto made = server::start(config, node);
    ASSERT_TRUE(made) << made.error().text();
    front = std::move(*made);
    auto& m = node.measured;
    m.projects.resize(2);
    m.projects[0].project = "news";
    m.projects[0].counts = {5, 4, 3, 2, 1};
    m.projects[0].ready = 8;
    m.projects[0].oldest_lease = 50;
    m.projects[1].project = "other";
    m.projects_known = 9;
    m.lateness = {bounds, {2, 1, 4}, 12.5};
    m.job_lateness = m.job_durations = m.lateness;
    m.shards.resize(2, {m.lateness, m.lateness, m.lateness, 3, 6});
  }
  http_answer call(std::string_view method, std::string_view target, std::string_view body = {}) {
    return http_client(front->port()).call(method, target, body);
  }
  exposition scrape() {
    const auto a = call("GET", "/metrics");
    EXPECT_EQ(a.status, 200);
    EXPECT_NE(a.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos) << a.head;
    exposition e(a.body);
    EXPECT_THAT(e.errors, IsEmpty()) << a.body;
    return e;
  }

  fake_node node;
  std::unique_ptr<server> front;
};

TEST_F(metrics_page, tells_what_the_node_has_counted) {
  const auto e = scrape();
  EXPECT_EQ(node.asked_metrics, 7u);
  const auto events = [&](const char* event) {
    return e.value("lycosa_task_events_total", {{"project", "news"}, {"event", event}});
  };
  EXPECT_EQ(events("pending"), 5);
  EXPECT_EQ(events("success"), 4);
  EXPECT_EQ(events("retry"), 3);
  EXPECT_EQ(events("failed"), 2);
  EXPECT_EQ(e.value("lycosa_tasks_refused_total", {{"project", "news"}}), 1);
  EXPECT_EQ(e.value("lycosa_tasks", {{"project", "news"}, {"state", "ready"}}), 8);
  EXPECT_EQ(e.value("lycosa_oldest_lease_seconds", {{"project", "news"}}), 50);
  EXPECT_EQ(e.value("lycosa_projects"), 9);
  EXPECT_EQ(e.value("lycosa_task_lateness_seconds"), 7);
  EXPECT_EQ(e.value("lycosa_commit_duration_seconds", {{"shard", "1"}}), 7);
  EXPECT_EQ(e.value("lycosa_commit_sync_seconds", {{"shard", "1"}}), 7);
  EXPECT_EQ(e.value("lycosa_commits_refused_total", {{"shard", "0"}}), 3);
  EXPECT_EQ(e.value("lycosa_shard_mailbox_messages", {{"shard", "0"}}), 6);
  EXPECT_GE(e.value("lycosa_answer_seconds", {{"part", "shards"}}).value_or(-1), 0);
  EXPECT_EQ(e.value("lycosa_ready"), 1);
  EXPECT_EQ(e.value("lycosa_build_info", {{"version", "1.2\"3\\"}}), 1);
  EXPECT_GT(e.value("process_resident_memory_bytes").value_or(0), 0);
  EXPECT_GT(e.value("process_cpu_seconds_total").value_or(0), 0);
  EXPECT_GT(e.value("process_open_fds").value_or(0), 0);
  EXPECT_GT(e.value("process_threads").value_or(0), 1);
  EXPECT_GT(e.value("process_start_time_seconds").value_or(0), 1.5e9);
}

TEST_F(metrics_page, counts_requests_by_route_method_and_class) {
  call("PUT", "/v1/projects/a", "{}");
  call("GET", "/v1/projects/a");
  call("GET", "/v1/projects/b");
  call("GET", "/nowhere");
  call("DELETE", "/v1/tasks");
  http_client(front->port()).call("GET", "/%zz");
  const auto e = scrape();
  const auto requests = [&](const char* route, const char* method, const char* status) {
    return e.value("lycosa_http_requests_total",
                   {{"route", route}, {"method", method}, {"status", status}});
  };
  EXPECT_EQ(requests("/v1/projects/{}", "PUT", "2xx"), 1);
  EXPECT_EQ(requests("/v1/projects/{}", "GET", "2xx"), 1);
  EXPECT_EQ(requests("/v1/projects/{}", "GET", "4xx"), 1);
  EXPECT_EQ(requests("none", "none", "4xx"), 3);
  EXPECT_EQ(e.value("lycosa_http_request_duration_seconds",
                    {{"route", "/v1/projects/{}"}, {"method", "GET"}}),
            2);
  EXPECT_EQ(requests("/metrics", "GET", "2xx"), std::nullopt); // it is not over yet
  EXPECT_EQ(scrape().value("lycosa_http_requests_total",
                           {{"route", "/metrics"}, {"method", "GET"}, {"status", "2xx"}}),
            1);
  EXPECT_GE(e.value("lycosa_http_connections").value_or(0), 1);
}

TEST_F(metrics_page, says_so_when_the_node_is_not_ready) {
  node.ready = false;
  EXPECT_EQ(scrape().value("lycosa_ready"), 0);
}

TEST_F(metrics_page, has_every_family_whatever_there_is) {
  node.measured = {};
  std::set<std::string> bare;
  for (const auto& [name, _] : scrape().families)
    bare.insert(name);
  SetUp();
  std::set<std::string> full;
  for (const auto& [name, _] : scrape().families)
    full.insert(name);
  EXPECT_EQ(bare, full);
}

TEST_F(metrics_page, is_documented_whole_and_nothing_else_is) {
  const auto text = read("docs/metrics.md");
  std::set<std::string> documented;
  for (std::size_t at = 0; (at = text.find("\n| `", at)) != std::string::npos; ++at)
    documented.insert(text.substr(at + 4, text.find('`', at + 4) - at - 4));
  std::set<std::string> told;
  for (const auto& [name, _] : scrape().families)
    told.insert(name);
  EXPECT_EQ(documented, told);
}

TEST_F(metrics_page, has_what_the_alerts_and_the_dashboard_ask_for) {
  const auto known = sample_names(scrape());
  for (const std::string file : {"conf/prometheus-alerts.yml", "conf/grafana-dashboard.json"}) {
    const auto names = names_in(read(file));
    EXPECT_GT(names.size(), 10u) << file;
    for (const auto& name : names)
      EXPECT_TRUE(known.contains(name)) << file << ": " << name;
  }
}

TEST(grafana_dashboard, loads_and_has_a_query_in_every_panel) {
  const auto d = nlohmann::json::parse(read("conf/grafana-dashboard.json"));
  std::set<int> ids;
  std::size_t queries = 0;
  for (const auto& p : d.at("panels")) {
    EXPECT_TRUE(ids.insert(p.at("id").get<int>()).second) << p.at("title");
    if (p.at("type") == "row") continue;
    EXPECT_FALSE(p.at("targets").empty()) << p.at("title");
    for (const auto& t : p.at("targets")) {
      const auto expr = t.at("expr").get<std::string>();
      EXPECT_FALSE(names_in(expr).empty()) << expr;
      EXPECT_EQ(std::count(expr.begin(), expr.end(), '('),
                std::count(expr.begin(), expr.end(), ')'))
          << expr;
      ++queries;
    }
  }
  EXPECT_GT(queries, 20u);
}

TEST(metric_families, escapes_what_labels_hold) {
  metric_families all;
  all.counter("a_total", "Counts.").add({{"l", "back\\slash \"quoted\" and\nbroken ü"}}, 1.5);
  all.gauge("b", "Nothing yet.");
  const exposition e(all.text());
  EXPECT_THAT(e.errors, IsEmpty()) << all.text();
  EXPECT_EQ(e.value("a_total", {{"l", "back\\slash \"quoted\" and\nbroken ü"}}), 1.5);
  EXPECT_TRUE(e.families.contains("b"));
}

TEST(metric_families, write_whole_numbers_whole) {
  metric_families all;
  all.counter("a_total", "Counts.").add({}, std::uint64_t{123'456'789'012});
  EXPECT_EQ(exposition(all.text()).value("a_total"), 123'456'789'012.0) << all.text();
}

TEST(exposition_checker, finds_what_is_wrong) {
  const std::string head = "# HELP a_total x\n# TYPE a_total counter\n";
  EXPECT_THAT(exposition(head + "a_total 1\n").errors, IsEmpty());
  const std::string histogram = "# HELP h x\n# TYPE h histogram\n";
  for (const auto& wrong :
       {head + "a_total 1\na_total 1\n",
        head + "a_total 1",
        head + head,
        head + "a_total x\n",
        head + "a_total{l=\"\\x\"} 1\n",
        std::string{"b 1\n"},
        head + "a_total -1\n",
        std::string{"# HELP a x\n# TYPE a counter\na 1\n"},
        histogram + "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
        histogram + "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
        histogram + "h_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 1\n",
        histogram + "h_bucket{le=\"+Inf\"} 1.5\nh_sum 1\nh_count 1.5\n",
        histogram + "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n"
            + "h_sum 1\nh_count 1\n",
        histogram + "h_bucket{le=\"+Inf\"} 1\nh_count 1\n",
        histogram + "h 1\n",
        histogram + "h_bucket{a=\"1\",le=\"1\"} 1\nh_bucket{a=\"1\",le=\"+Inf\"} 1\n"
            + "h_sum{a=\"1\"} 1\nh_count{a=\"1\"} 1\nh_bucket{a=\"2\",le=\"+Inf\"} 1\n"
            + "h_sum{a=\"2\"} 1\nh_count{a=\"2\"} 1\n",
        head + "a_total{l=\"1\"} 1\na_total{m=\"1\"} 1\n",
        head + "a_total{} 1\n",
        head + "a_total{l=\"1\"m=\"1\"} 1\n",
        head + "a_total{__l=\"1\"} 1\n",
        head + "a_total{l=\"1\",l=\"1\"} 1\n",
        head + "a_total{0=\"1\"} 1\n",
        head + "a_total NaN\n",
        head + "\na_total 1\n",
        head + "a_total 1\n" + head,
        head + histogram + "a_total 1\n",
        std::string{"# TYPE a gauge\na 1\n"},
        std::string{"# HELP a x\n# TYPE a gauge\n# TYPE a gauge\na 1\n"},
        std::string{"# HELP a_total x\n# TYPE a_total gauge\na_total 1\n"},
        std::string{"# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n"},
        std::string{"# HELP a-b x\n# TYPE a-b gauge\na-b 1\n"}})
    EXPECT_FALSE(exposition(wrong).errors.empty()) << wrong;
}

} // namespace
} // namespace lycosa::gateway
