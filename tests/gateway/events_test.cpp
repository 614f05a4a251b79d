#include "gateway/server.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace lycosa::gateway {
namespace {

struct event_front : testing::Test {
  void start(server_config config = {}) {
    config.port = 0;
    config.threads = 1;
    auto made = server::start(config, node);
    ASSERT_TRUE(made) << made.error().text();
    front = std::move(*made);
  }
  void SetUp() override { start(); }
  void happen(jobs::event_kind kind, const std::string& job, const std::string& json = "{}") {
    actors::event_item i;
    i.type = static_cast<unsigned>(kind);
    i.job = job;
    i.bytes = json.size();
    i.json = [json] { return json; };
    std::vector<actors::event_item> all;
    all.push_back(std::move(i));
    node.hub.publish(std::move(all));
  }
  /// Returns when the server has begun to tell `c` of events.
  static void follow(http_client& c, const char* path) {
    c.request("GET", path);
    c.read_until(": following");
  }
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  fake_node node;
  std::unique_ptr<server> front;
};

TEST_F(event_front, streams_events_as_they_come) {
  http_client c(front->port());
  c.request("GET", "/v1/events?types=job_added");
  const auto head = c.read_until(": following\n\n");
  EXPECT_NE(head.find("200 OK"), std::string::npos) << head;
  EXPECT_NE(head.find("Content-Type: text/event-stream"), std::string::npos) << head;
  happen(jobs::event_kind::job_removed, "a");
  happen(jobs::event_kind::job_added, "b", R"({"job_id":"b"})");
  EXPECT_NE(c.read_until("\n\n").find("id: 1000-2\nevent: JOB_ADDED\ndata: {\"job_id\":\"b\"}\n\n"),
            std::string::npos);
}

TEST_F(event_front, resumes_after_the_last_event_id_and_tells_a_gap) {
  for (int i = 0; i < 12; ++i) // the hub holds 8
    happen(jobs::event_kind::job_added, std::to_string(i));
  http_client near(front->port());
  near.request("GET", "/v1/events", "", "Last-Event-ID: 1000-10\r\n");
  EXPECT_EQ(near.read_until("id: 1000-12\n").find("GAP"), std::string::npos);
  http_client far(front->port());
  far.request("GET", "/v1/events?last_event_id=1000-1");
  const auto got = far.read_until("id: 1000-5\n");
  EXPECT_NE(got.find("event: GAP"), std::string::npos) << got;
  EXPECT_NE(got.find("\"missing\":3}"), std::string::npos) << got;
}

TEST_F(event_front, refuses_unknown_types_and_malformed_ids) {
  const auto type = http_client(front->port()).call("GET", "/v1/events?types=job_added,nonsense");
  EXPECT_EQ(type.status, 400);
  EXPECT_NE(type.body.find(R"("field":"types")"), std::string::npos) << type.body;
  EXPECT_NE(type.body.find("JOB_MISSED"), std::string::npos) << type.body;
  const auto id = http_client(front->port()).call("GET", "/v1/events?last_event_id=x");
  EXPECT_EQ(id.status, 400);
  EXPECT_NE(id.body.find(R"("field":"last_event_id")"), std::string::npos) << id.body;
}

TEST_F(event_front, says_now_and_then_that_it_is_alive) {
  server_config config;
  config.event_keep_alive = std::chrono::milliseconds{1};
  start(config);
  http_client c(front->port());
  c.request("GET", "/v1/events");
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(c.read_until(": nothing new\n\n"), "");
}

TEST_F(event_front, a_client_that_leaves_ends_its_reading) {
  http_client stays(front->port());
  follow(stays, "/v1/events");
  {
    http_client leaves(front->port());
    follow(leaves, "/v1/events");
    EXPECT_EQ(node.hub.readers(), 2u);
  }
  EXPECT_TRUE(until([&] { return node.hub.readers() == 1; }));
}

TEST_F(event_front, a_client_that_does_not_read_gets_a_gap_and_holds_up_nobody) {
  http_client slow(front->port());
  follow(slow, "/v1/events");
  http_client quick(front->port());
  follow(quick, "/v1/events?types=job_removed");
  // More than sockets and the ring hold together.
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  for (int i = 0; i < 500; ++i)
    happen(jobs::event_kind::job_added, "a", large);
  happen(jobs::event_kind::job_removed, "a");
  EXPECT_NE(quick.read_until("JOB_REMOVED"), "");
  EXPECT_NE(slow.read_until("event: GAP"), "");
  EXPECT_NE(slow.read_until("JOB_REMOVED"), "");
}

TEST_F(event_front, stopping_ends_streams_at_once_also_stalled_ones) {
  http_client idle(front->port());
  follow(idle, "/v1/events");
  http_client stalled(front->port());
  follow(stalled, "/v1/events");
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  for (int i = 0; i < 100; ++i)
    happen(jobs::event_kind::job_added, "a", large);
  // A grace that would fail the test if it were used up.
  front->stop(std::chrono::minutes{10});
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(node.hub.readers(), 0u);
}

TEST_F(event_front, many_listeners_share_an_event) {
  std::vector<std::unique_ptr<http_client>> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(std::make_unique<http_client>(front->port()));
    all.back()->request("GET", "/v1/events");
  }
  for (auto& c : all)
    ASSERT_NE(c->read_until(": following"), "");
  std::atomic<int> made{0};
  actors::event_item i;
  i.type = static_cast<unsigned>(jobs::event_kind::job_added);
  i.json = [&] { return std::to_string(++made); };
  std::vector<actors::event_item> one;
  one.push_back(std::move(i));
  node.hub.publish(std::move(one));
  for (auto& c : all)
    ASSERT_NE(c->read_until("data: 1\n\n"), "");
  EXPECT_EQ(made, 1);
}

TEST_F(event_front, removing_all_jobs_wants_to_be_confirmed) {
  EXPECT_EQ(http_client(front->port()).call("DELETE", "/v1/jobs").status, 400);
  const auto a = http_client(front->port()).call("DELETE", "/v1/jobs?confirm=all");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, R"({"removed":0})");
}

TEST_F(event_front, a_backfill_names_what_is_wrong_with_its_times) {
  http_client c(front->port());
  for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"to":"2030-01-01T00:00:00Z"})", "from"},
           {R"({"from":"2030-01-01T00:00:00Z"})", "to"},
           {R"({"from":"nonsense","to":"2030-01-01T00:00:00Z"})", "from"}}) {
    const auto a = c.call("POST", "/v1/jobs/j/backfill", body);
    EXPECT_EQ(a.status, 400) << a.body;
    EXPECT_NE(a.body.find("\"field\":\"" + field + "\""), std::string::npos) << a.body;
  }
  EXPECT_EQ(c.call("POST", "/v1/jobs/j/reschedule", "{}").status, 400);
}

} // namespace
} // namespace lycosa::gateway
