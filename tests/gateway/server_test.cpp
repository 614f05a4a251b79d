#include "core/md5.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <thread>

namespace lycosa::gateway {
namespace {

using nlohmann::json;

struct http_front : testing::Test {
  void start(server_config config = {}) {
    config.port = 0;
    config.threads = 1;
    auto made = server::start(config, node);
    ASSERT_TRUE(made) << made.error().text();
    front = std::move(*made);
  }
  void SetUp() override { start(); }

  http_answer call(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view headers = {}) {
    return http_client(front->port()).call(method, target, body, headers);
  }
  template <class F>
  bool until(F condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < end) {
      {
        const std::lock_guard lock(node.mutex);
        if (condition()) return true;
      }
      std::this_thread::yield();
    }
    return false;
  }

  fake_node node;
  std::unique_ptr<server> front;
};

TEST_F(http_front, submits_a_list_and_reports_what_it_cannot_take) {
  const auto a = call("POST", "/v1/tasks",
                      R"([{"project":"p","taskid":"a","url":"u"},
                          {"project":"p","url":"http://x/"},
                          {"project":"p p","url":"u"},
                          {"project":"p","taskid":"b","url":"u","schedule":{"priority":"1"}},
                          {"project":"p","taskid":"c","url":"u","url":"v"},
                          7])");
  ASSERT_EQ(a.status, 200) << a.body;
  const auto j = json::parse(a.body);
  EXPECT_EQ(j["new"], 2);
  ASSERT_EQ(j["rejected"].size(), 4u) << a.body;
  EXPECT_EQ(j["rejected"][1]["index"], 3);
  EXPECT_EQ(j["rejected"][1]["taskid"], "b");
  EXPECT_EQ(j["rejected"][1]["error"],
            "schedule.priority: must be an integer from -2147483648 to 2147483647");
  EXPECT_EQ(j["rejected"][2]["error"], "url: stands twice");
  EXPECT_EQ(node.tasks[1].taskid, md5_hex("http://x/"));
}

TEST_F(http_front, keeps_opaque_parts_byte_for_byte_and_times_to_the_microsecond) {
  const std::string fetch =
      R"({ "z":1.50, "a" : [1e2, 123456789012345678901234567890,"\u00e9\/"] })";
  const auto a = call("POST", "/v1/tasks",
                      R"({"project":"p","taskid":"a\"\u00e9","url":"u","fetch":)" + fetch
                          + R"(,"process":{},"schedule":{"exetime":1700000000.123457,"age":0.1,)"
                            R"("x" : [ 1 ],"itag":"v1"}})");
  ASSERT_EQ(a.status, 200) << a.body;
  ASSERT_EQ(node.tasks.size(), 1u);
  const auto& t = node.tasks[0];
  EXPECT_EQ(t.fetch, fetch);
  EXPECT_EQ(t.taskid, "a\"\xc3\xa9");
  EXPECT_EQ(t.sched.exetime.time_since_epoch().count(), 1'700'000'000'123'457);
  EXPECT_EQ(t.sched.age.count(), 100'000);
  EXPECT_EQ(t.extra, R"("x" : [ 1 ])");
  const auto got = call("GET", "/v1/projects/p/tasks/a%22%C3%A9");
  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_NE(got.body.find("\"fetch\":" + fetch), std::string::npos);
  EXPECT_NE(got.body.find("\"exetime\":1700000000.123457,"), std::string::npos);
  EXPECT_TRUE(json::accept(got.body));
}

TEST_F(http_front, takes_nothing_of_a_body_that_is_not_json) {
  for (const std::string body :
       {"", "[", "{", "[{}", R"([{"project":"p","url":"u"},])", R"([{"project":"p","url":"u"}] x)",
        R"({"project":"p" "url":"u"})", "[{\"project\":\"p\",\"url\":\"\xff\"}]", "5", "nul",
        R"([{"project":"p","url":"u"} {"project":"p","url":"u"}])"}) {
    const auto a = call("POST", "/v1/tasks", body);
    EXPECT_EQ(a.status, 400) << body << a.body;
    EXPECT_EQ(json::parse(a.body)["status"], 400);
    EXPECT_NE(a.head.find("application/problem+json"), std::string::npos);
  }
  EXPECT_TRUE(node.tasks.empty());
}

TEST_F(http_front, refuses_a_single_task_with_the_field_and_the_reason) {
  const auto a =
      call("POST", "/v1/tasks", R"({"project":"p","url":"u","schedule":{"retries":-1}})");
  EXPECT_EQ(a.status, 400);
  EXPECT_EQ(json::parse(a.body)["errors"][0]["field"], "schedule.retries");
}

TEST_F(http_front, rejects_what_is_too_deep_or_odd_and_takes_the_rest_of_the_list) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const auto a =
      call("POST", "/v1/tasks",
           R"([{"project":"p","url":"1","fetch":{"a":)" + deep + R"(}},{"project":"p","url":"2"},)"
               + R"({"project":"p","url":"3","fetch":{"a":"\ud800"}},{"project":"p","url":"4"}])");
  ASSERT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(json::parse(a.body)["new"], 2);
  EXPECT_EQ(json::parse(a.body)["rejected"].size(), 2u) << a.body;
}

TEST_F(http_front, refuses_a_task_of_two_mebibytes) {
  const auto big =
      R"({"project":"p","url":"u","fetch":{"d":")" + std::string(2 << 20, 'x') + "\"}}";
  EXPECT_EQ(call("POST", "/v1/tasks", big).status, 413);
  const auto a = call("POST", "/v1/tasks", "[" + big + R"(,{"project":"p","url":"u"}])");
  EXPECT_EQ(json::parse(a.body)["new"], 1);
}

TEST_F(http_front, reads_lines_and_reports_a_line_that_is_no_json) {
  const auto a =
      call("POST", "/v1/tasks",
           "{\"project\":\"p\",\"url\":\"1\"}\n{\"proj\n{\"project\":\"p\",\"url\":\"2\"}\n",
           "Content-Type: application/x-ndjson\r\n");
  EXPECT_EQ(json::parse(a.body)["new"], 2) << a.body;
  EXPECT_EQ(json::parse(a.body)["rejected"][0]["index"], 1);
}

TEST_F(http_front, streams_a_whole_listing_line_by_line) {
  std::string lines;
  for (int i = 0; i < 2500; ++i)
    lines += "{\"project\":\"p\",\"url\":\"" + std::to_string(i) + "\"}\n";
  ASSERT_EQ(call("POST", "/v1/tasks", lines).status, 200);
  const auto a = call("GET", "/v1/projects/p/tasks", "", "Accept: application/x-ndjson\r\n");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(std::count(a.body.begin(), a.body.end(), '\n'), 2500);
  const auto page = json::parse(call("GET", "/v1/projects/p/tasks?limit=10").body);
  EXPECT_EQ(page["tasks"].size(), 10u);
  EXPECT_EQ(page["next"], "10");
  EXPECT_EQ(call("GET", "/v1/projects/p/tasks?limit=x").status, 400);
  EXPECT_EQ(call("GET", "/v1/projects/p/tasks?status=odd").status, 400);
}

TEST_F(http_front, reports_count_and_a_lease_that_is_none_is_stale) {
  const auto a =
      call("POST", "/v1/report",
           R"([{"project":"p","taskid":"a","track":{"process":{"ok":true},"save":{"k":1.0}}},
                          {"project":"p","taskid":"b","track":{"fetch":{"ok":true},"process":{"ok":false}}},
                          {"project":"p","taskid":"c","track":{"process":{"ok":true}},"lease":"nonsense"},
                          {"project":"p","taskid":"d","track":{"fetch":{"ok":true}}}])");
  const auto j = json::parse(a.body);
  EXPECT_EQ(j["done"], 1) << a.body;
  EXPECT_EQ(j["retried"], 1);
  EXPECT_EQ(j["rejected"][0]["error"], "stale lease");
  EXPECT_EQ(j["rejected"][1]["error"], "track.process.ok: required");
  EXPECT_EQ(node.reports[0], R"({"process":{"ok":true},"save":{"k":1.0}})");
}

TEST_F(http_front, a_failure_of_the_node_keeps_the_counts) {
  node.failure = error{errc::no_space, "shard 0", "disk full"};
  const auto a = call("POST", "/v1/tasks", R"([{"project":"p","url":"u"}])");
  EXPECT_EQ(a.status, 507);
  EXPECT_EQ(json::parse(a.body)["new"], 1) << a.body;
}

TEST_F(http_front, leases_at_once_and_checks_what_is_asked) {
  const auto a = call("POST", "/v1/lease", R"({"max":5,"wait":0,"projects":["p"],"consumer":"c"})");
  const auto j = json::parse(a.body);
  EXPECT_EQ(j["tasks"][0]["lease"].get<std::string>().size(), 48u);
  EXPECT_NE(a.body.find(R"("fetch":{"b":1.0e2,"a":[ ]})"), std::string::npos);
  EXPECT_EQ(node.asked.projects, std::vector<std::string>{"p"});
  EXPECT_EQ(call("POST", "/v1/lease", R"({"max":0})").status, 400);
  EXPECT_EQ(call("POST", "/v1/lease", R"({"wait":301})").status, 400);
  EXPECT_EQ(call("POST", "/v1/lease", R"({"projects":"p"})").status, 400);
}

TEST_F(http_front, a_client_that_leaves_while_it_waits_is_noticed) {
  http_client c(front->port());
  c.request("POST", "/v1/lease", R"({"wait":100})");
  ASSERT_TRUE(until([&] { return !node.waits.empty(); }));
  c.close();
  EXPECT_TRUE(until([&] { return node.cancelled == 1; }));
  // Tasks that were on their way go back.
  node.waits[0](fake_node::one_task());
  EXPECT_TRUE(until([&] { return node.released == 1; }));
}

TEST_F(http_front, tasks_for_a_client_that_leaves_as_they_come_go_back) {
  for (std::size_t n = 1; n <= 200; ++n) {
    http_client c(front->port());
    c.request("POST", "/v1/lease", R"({"wait":100})");
    ASSERT_TRUE(until([&] { return node.waits.size() == n; }));
    c.close();
    node.waits[n - 1](fake_node::one_task()); // before or after the server knows
    ASSERT_TRUE(until([&] { return node.released == n; })) << n;
  }
}

TEST_F(http_front, tasks_an_aborted_connection_cannot_have_read_go_back) {
  http_client c(front->port());
  c.request("POST", "/v1/lease", R"({"wait":0})");
  ASSERT_EQ(c.read().status, 200);
  c.reset();
  EXPECT_TRUE(until([&] { return node.released == 1; }));
}

TEST_F(http_front, a_waiting_lease_is_answered_and_the_connection_goes_on) {
  http_client c(front->port());
  c.request("POST", "/v1/lease", R"({"wait":100})");
  ASSERT_TRUE(until([&] { return !node.waits.empty(); }));
  node.waits[0](fake_node::one_task());
  EXPECT_EQ(c.read().status, 200);
  EXPECT_EQ(c.call("GET", "/healthz").status, 200);
  EXPECT_EQ(node.released, 0u);
}

TEST_F(http_front, stopping_answers_waiting_leases_with_nothing) {
  http_client c(front->port());
  c.request("POST", "/v1/lease", R"({"wait":100})");
  ASSERT_TRUE(until([&] { return !node.waits.empty(); }));
  front->stop_accepting();
  const auto a = c.read();
  EXPECT_EQ(a.body, R"({"tasks":[]})");
  c.close();
  front->stop(std::chrono::seconds{5});
  EXPECT_EQ(node.cancelled, 1);
}

TEST_F(http_front, extends_and_releases) {
  const auto lease = to_text({project_id{1}, task_key{0, 1}, 1, 0, 1});
  const auto a = call("POST", "/v1/extend", R"({"leases":["x",")" + lease + R"("],"for":60})");
  EXPECT_EQ(json::parse(a.body)["changed"], 1) << a.body;
  EXPECT_EQ(json::parse(a.body)["rejected"][0]["error"], "stale lease");
  EXPECT_EQ(call("POST", "/v1/extend", R"({"leases":[]})").status, 400);
  EXPECT_EQ(call("POST", "/v1/release", R"({"leases":[]})").status, 200);
}

TEST_F(http_front, projects_are_made_shown_and_dropped) {
  EXPECT_EQ(
      call(
          "PUT", "/v1/projects/p",
          R"({"status":"RUNNING","rate":0.5,"retry_delay":{"0":1.5,"":9},"crawl_config":{"a":1.0}})")
          .status,
      201);
  EXPECT_EQ(call("PUT", "/v1/projects/p", R"({"burst":2})").status, 200);
  const auto a = call("GET", "/v1/projects/p");
  const auto j = json::parse(a.body);
  EXPECT_EQ(j["rate"], 0.5);
  EXPECT_EQ(j["retry_delay"]["0"], 1.5);
  EXPECT_NE(a.body.find(R"("crawl_config":{"a":1.0})"), std::string::npos);
  EXPECT_NE(a.body.find("1700000000.123456"), std::string::npos);
  EXPECT_EQ(json::parse(call("GET", "/v1/size").body)["size"], 3);
  for (const auto* bad :
       {R"({"rate":-1})", R"({"rate":"1"})", R"({"status":"running"})",
        R"({"retry_delay":{"x":1}})", R"({"queue_limit":1.5})", R"({"retain_age":-1})",
        R"({"retain_count":-1})", R"({"group":1})", R"({"rate":1,"rate":2})"})
    EXPECT_EQ(call("PUT", "/v1/projects/p", bad).status, 400) << bad;
  EXPECT_EQ(call("PUT", "/v1/projects/a%20b", "{}").status, 400);
  EXPECT_EQ(call("GET", "/v1/projects/none").status, 404);
  EXPECT_EQ(call("DELETE", "/v1/projects/p").status, 400);
  EXPECT_EQ(call("DELETE", "/v1/projects/p?confirm=p").status, 200);
}

TEST_F(http_front, a_project_member_that_is_unknown_is_told_with_the_nearest) {
  const auto warning = [&](const std::string& body) {
    const auto a = call("PUT", "/v1/projects/p", body);
    EXPECT_LE(a.status, 201u) << a.body;
    const auto j = json::parse(a.body);
    return j["warnings"][0]["field"].get<std::string>() + ": "
           + j["warnings"][0]["reason"].get<std::string>();
  };
  EXPECT_EQ(warning(R"({"retain_cuont":1})"),
            "retain_cuont: unknown, and passed over; the nearest known name is \"retain_count\"");
  EXPECT_EQ(warning(R"({"rate":7,"colour":"red"})"), "colour: unknown, and passed over");
  EXPECT_EQ(json::parse(call("GET", "/v1/projects/p").body)["rate"], 7);
  EXPECT_EQ(warning(R"({"\u00e9)" + std::string(1 << 20, 'x') + R"(":1})"),
            "\u00e9" + std::string(62, 'x') + "…: unknown, and passed over");
  EXPECT_EQ(
      json::parse(call("PUT", "/v1/projects/p", R"({"aa":1,"bb":{"rate":2}})").body)["warnings"]
          .size(),
      2u);
  EXPECT_EQ(call("PUT", "/v1/projects/p", R"({"name":"q"})").status, 400);
  // What was read may be sent back.
  const auto made = call("PUT", "/v1/projects/p", R"({"rate":3,"retain_age":60})");
  const auto again = call("PUT", "/v1/projects/p", made.body);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(json::parse(again.body)["retain_age"], 60);
  EXPECT_FALSE(json::parse(again.body).contains("warnings")) << again.body;
  EXPECT_EQ(json::parse(
                call("PUT", "/v1/projects/p", R"({"retry_delay":{"":5}})").body)["retry_delay"][""],
            5);
  EXPECT_TRUE(
      json::parse(call("PUT", "/v1/projects/p", R"({"retry_delay":null})").body)["retry_delay"]
          .is_null());
}

TEST_F(http_front, a_number_out_of_range_is_refused_with_its_bounds) {
  const auto reason = [&](const std::string& target, const std::string& body) {
    const auto a = call(target == "/v1/projects/p" ? "PUT" : "POST", target, body);
    EXPECT_EQ(a.status, 400) << body << a.body;
    return json::parse(a.body)["detail"].get<std::string>();
  };
  const auto of_project = [&](const std::string& body) { return reason("/v1/projects/p", body); };
  for (const std::string name : {"retain_count", "queue_limit", "queue_window"})
    for (const auto* value : {"9223372036854775808", "-1", "1.5", "\"1\""})
      EXPECT_EQ(of_project("{\"" + name + "\":" + value + "}"),
                name + ": must be an integer from 0 to 9223372036854775807");
  for (const std::string name : {"retain_age", "min_tick"})
    for (const auto* value : {"1e12", "1e300", "-1", "true"})
      EXPECT_EQ(of_project("{\"" + name + "\":" + value + "}"),
                name + ": must be a number of seconds from 0 to 1e11");
  // What would be rounded to 0, which means "for ever" and "none".
  for (const std::string value : {"1e-9", "0.0000004", "-1e-9"})
    EXPECT_EQ(of_project("{\"retain_age\":" + value + "}"),
              "retain_age: must be 0, or a number of seconds from 0.000001 to 1e11");
  for (const std::string value : {"1e-9", "0.5"})
    EXPECT_EQ(of_project("{\"min_tick\":" + value + "}"),
              "min_tick: must be 0, or a number of seconds from 1 to 1e11");
  EXPECT_EQ(of_project(R"({"rate":1e10})"), "rate: must be a number from 0 to 1e9");
  EXPECT_EQ(of_project(R"({"retry_delay":{"0":1e12}})"),
            "retry_delay[\"0\"]: must be a number of seconds from 0 to 1e11");
  EXPECT_EQ(
      of_project(R"({"retry_delay":{"1000001":1}})"),
      "retry_delay: has a key that is neither a number of retries from 0 to 1000000 nor \"\"");
  const auto of_task = [&](const std::string& schedule) {
    return reason("/v1/tasks", R"({"project":"p","url":"u","schedule":{)" + schedule + "}}");
  };
  EXPECT_EQ(of_task(R"("priority":9223372036854775808)"),
            "schedule.priority: must be an integer from -2147483648 to 2147483647");
  EXPECT_EQ(of_task(R"("retries":2147483648)"),
            "schedule.retries: must be an integer from 0 to 2147483647");
  EXPECT_EQ(of_task(R"("exetime":1e12)"),
            "schedule.exetime: must be a number of seconds from -1e11 to 1e11");
  EXPECT_EQ(call("PUT", "/v1/projects/p", R"({"retain_age":0.000001,"min_tick":0e-9})").status,
            201);
}

TEST_F(http_front, results_come_back_as_they_were_put) {
  EXPECT_EQ(call("PUT", "/v1/projects/p/results/a%2Fb", " [1.0, {\"b\":2} ] ").status, 201);
  EXPECT_EQ(call("GET", "/v1/projects/p/results/a%2Fb").body, "[1.0, {\"b\":2} ]");
  EXPECT_EQ(call("PUT", "/v1/projects/p/results/s", "\"x\"").status, 201);
  EXPECT_EQ(call("PUT", "/v1/projects/p/results/s", "{").status, 400);
  EXPECT_EQ(json::parse(call("GET", "/v1/projects/p/results").body)["results"].size(), 2u);
}

TEST_F(http_front, knows_its_addresses_and_methods) {
  EXPECT_EQ(call("GET", "/nothing").status, 404);
  const auto a = call("DELETE", "/v1/tasks");
  EXPECT_EQ(a.status, 405);
  EXPECT_NE(a.head.find("Allow: POST"), std::string::npos);
  const auto head = call("HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(call("GET", "/").status, 200);
  node.ready = false;
  EXPECT_EQ(call("GET", "/readyz").status, 503);
  EXPECT_EQ(call("GET", "/%zz").status, 400);
}

TEST_F(http_front, serves_pipelined_and_chunked_requests) {
  http_client c(front->port());
  c.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
         "POST /v1/tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
         "9\r\n{\"project\r\n14\r\n\":\"p\",\"url\":\"u\"     \r\n1\r\n}\r\n0\r\n\r\n");
  EXPECT_EQ(c.read().status, 200);
  const auto a = c.read();
  EXPECT_EQ(a.status, 200) << a.body;
}

struct small_front : http_front {
  void SetUp() override {
    server_config config;
    config.max_body = 100'000;
    config.header_timeout = std::chrono::milliseconds{50};
    config.body_timeout = std::chrono::milliseconds{50};
    config.max_in_flight_bytes = 50'000;
    config.max_connections = 3;
    start(config);
  }
};

TEST_F(small_front, refuses_bodies_over_the_limit_and_the_budget) {
  EXPECT_EQ(call("POST", "/v1/tasks", std::string(200'000, ' ')).status, 413);
  const auto a = call("POST", "/v1/tasks", std::string(90'000, ' '));
  EXPECT_EQ(a.status, 429);
  EXPECT_NE(a.head.find("Retry-After"), std::string::npos);
}

struct crowded_front : http_front {
  void SetUp() override {
    server_config config;
    config.max_in_flight_bytes = 1'000'000;
    start(config);
  }
};

TEST_F(crowded_front, bodies_that_are_announced_and_do_not_come_take_no_room) {
  std::deque<http_client> idle;
  for (int i = 0; i < 50; ++i) {
    auto& c = idle.emplace_back(front->port());
    const auto* how = i % 2 == 0 ? "Content-Length: 900000\r\n" : "Transfer-Encoding: chunked\r\n";
    c.send("POST /v1/tasks HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + std::string{how}
           + "\r\n");
    ASSERT_NE(c.read_until("100 Continue\r\n\r\n"), "") << i; // it waits for the body now
    c.send(i % 2 == 0 ? "[{" : "dbba0\r\n[{");
  }
  std::string body = R"([{"project":"p","taskid":"a","url":"u"}])";
  body.resize(900'000, ' ');
  const auto a = call("POST", "/v1/tasks", body);
  EXPECT_EQ(a.status, 200) << a.body;
}

TEST_F(crowded_front, what_has_arrived_takes_room_until_it_is_answered_or_cut) {
  http_client slow(front->port());
  slow.send("POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n");
  slow.send(std::string(700'000, ' '));
  const auto other = [&] {
    return call("POST", "/v1/tasks", "[]" + std::string(500'000, ' ')).status;
  };
  EXPECT_TRUE(until([&] { return other() == 429; }));
  slow.close();
  EXPECT_TRUE(until([&] { return other() == 200; }));
}

TEST_F(small_front, cuts_clients_that_send_too_slowly) {
  http_client header(front->port());
  header.send("GET /heal");
  EXPECT_TRUE(header.ended());
  http_client body(front->port());
  body.send("POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_TRUE(body.ended());
}

TEST_F(small_front, turns_away_connections_over_the_limit) {
  http_client a(front->port());
  http_client b(front->port());
  http_client c(front->port());
  for (auto* open : {&a, &b, &c})
    EXPECT_EQ(open->call("GET", "/healthz").status, 200);
  http_client d(front->port());
  EXPECT_EQ(d.read().status, 503);
}

} // namespace
} // namespace lycosa::gateway
