#include "gateway/front.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include "wire/forward_frames.hpp"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <condition_variable>
#include <thread>

namespace lycosa::gateway {
namespace {

using nlohmann::json;

constexpr cluster::node_id node(std::uint64_t n) {
  return cluster::node_id{n};
}

/// Brings messages between fronts, on a thread of its own, and counts those on their way.
class wire_between {
public:
  struct end final : forward_transport {
    end(wire_between& w, cluster::node_id s) : wire(w), self(s) {}
    bool send(cluster::node_id to, std::string bytes) override {
      return wire.put(self, to, std::move(bytes));
    }
    wire_between& wire;
    cluster::node_id self;
  };

  wire_between() : thread_([this] { run(); }) {}
  ~wire_between() { stop(); }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  std::shared_ptr<forward_transport> at(std::uint64_t self) {
    return std::make_shared<end>(*this, node(self));
  }
  void connect(std::uint64_t id, front* f) { ends_[node(id)] = f; }
  void cut() {
    {
      const std::lock_guard lock(mutex_);
      is_cut_ = true;
      messages_.clear();
    }
    for (auto& [id, f] : ends_)
      for (auto& [other, _] : ends_)
        if (other != id) f->on_down(other);
  }
  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

private:
  struct message {
    cluster::node_id from, to;
    std::string bytes;
  };
  bool put(cluster::node_id from, cluster::node_id to, std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (is_cut_ || !ends_.contains(to)) return false;
    bytes_ += bytes.size();
    messages_.push_back({from, to, std::move(bytes)});
    changed_.notify_all();
    return true;
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !messages_.empty(); });
      if (over_) return;
      auto m = std::move(messages_.front());
      messages_.pop_front();
      auto* f = ends_[m.to];
      lock.unlock();
      f->on_message(m.from, m.bytes);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<message> messages_;
  std::map<cluster::node_id, front*> ends_;
  std::size_t bytes_ = 0;
  bool is_cut_ = false, over_ = false;
  std::thread thread_;
};

struct fake_door final : cluster_door {
  std::string state() override { return R"({"mode":"test"})"; }
  void move(std::string node, done reply) override {
    moved = node;
    reply(node == "nobody" ? result<void>{fail(errc::not_found, "node", "no such node: nobody")}
                           : result<void>{});
  }
  void drain(std::string node, bool on, done reply) override {
    drained = node + (on ? " on" : " off");
    reply({});
  }
  std::string moved = "-", drained = "-";
};

struct two_fronts : testing::Test {
  void SetUp() override {
    front_config c;
    c.cluster = &door_;
    c.quit = [this] { ++quits; };
    active = std::make_unique<front>(c, wire.at(1));
    replica = std::make_unique<front>(c, wire.at(2));
    wire.connect(1, active.get());
    wire.connect(2, replica.get());
    active->serve(fake);
    replica->forward_to(node(1));
    server_config s;
    s.port = 0;
    s.threads = 1;
    auto made = server::start(s, *replica);
    ASSERT_TRUE(made) << made.error().text();
    http = std::move(*made);
  }
  void TearDown() override {
    http->stop(usec::zero());
    if (xmlrpc) xmlrpc->stop(usec::zero());
    wire.stop();
    active->withdraw("the test is over");
    active->release();
  }
  http_answer call(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view headers = {}) {
    return http_client(http->port()).call(method, target, body, headers);
  }
  template <class F>
  bool until(F condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::chrono::steady_clock::now() < end) {
      {
        const std::lock_guard lock(fake.mutex);
        if (condition()) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return false;
  }
  void happen(const std::string& json) {
    actors::event_item i;
    i.type = static_cast<unsigned>(jobs::event_kind::job_added);
    i.bytes = json.size();
    i.json = [json] { return json; };
    std::vector<actors::event_item> all;
    all.push_back(std::move(i));
    fake.hub.publish(std::move(all));
  }
  static void expect_unavailable(const http_answer& a) {
    EXPECT_EQ(a.status, 503) << a.body;
    EXPECT_NE(a.head.find("Retry-After: 1\r\n"), std::string::npos) << a.head;
    EXPECT_NE(a.head.find("application/problem+json"), std::string::npos) << a.head;
    EXPECT_EQ(json::parse(a.body).value("code", ""), "unavailable") << a.body;
  }

  fake_node fake;
  wire_between wire;
  std::atomic<int> quits{0};
  std::unique_ptr<front> active, replica;
  std::unique_ptr<server> http, xmlrpc;
  fake_door door_;
};

TEST_F(two_fronts, pass_requests_on_with_query_headers_and_body) {
  auto a = call("POST", "/v1/tasks", R"([{"project":"p","taskid":"a","url":"u"}])");
  ASSERT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(json::parse(a.body)["new"], 1);
  ASSERT_EQ(fake.tasks.size(), 1u);
  a = call("PUT", "/v1/projects/p%20q", "{}");
  EXPECT_EQ(a.status, 400) << a.body; // the name's rules are the active node's
  a = call("PUT", "/v1/projects/p", "{}");
  EXPECT_EQ(a.status, 201) << a.body;
  a = call("GET", "/v1/projects/p/tasks?limit=1", "", "Accept: application/x-ndjson\r\n");
  EXPECT_EQ(a.status, 200);
  EXPECT_NE(a.head.find("application/x-ndjson"), std::string::npos) << a.head;
  a = call("DELETE", "/v1/lease");
  EXPECT_EQ(a.status, 405);
  EXPECT_NE(a.head.find("Allow: POST"), std::string::npos) << a.head;
  a = call("HEAD", "/v1/projects/p");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, "");
}

TEST_F(two_fronts, refuse_pages_of_other_sites_where_the_client_connects) {
  const auto before = wire.bytes();
  const auto a = call("POST", "/v1/tasks", "[]", "Origin: http://evil\r\n");
  EXPECT_EQ(a.status, 403);
  EXPECT_EQ(wire.bytes(), before);
}

TEST_F(two_fronts, carry_bodies_up_to_the_limit) {
  const std::size_t most = std::size_t{64} << 20U;
  std::string body = R"([{"project":"p","taskid":"a","url":"u"}])";
  body.resize(most, ' ');
  auto a = call("POST", "/v1/tasks", body);
  EXPECT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(fake.tasks.size(), 1u);
  a = call("POST", "/v1/tasks", body + " ");
  EXPECT_EQ(a.status, 413);
  // What was held for it is free again.
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(call("POST", "/v1/tasks", body).status, 200);
}

TEST_F(two_fronts, bodies_that_are_announced_and_do_not_come_take_no_room) {
  // Together 640 MiB, of which nothing follows; the room is for 256.
  for (std::uint64_t n = 1; n <= 10; ++n) {
    wire::forward_request head;
    head.method = "POST";
    head.target = "/v1/tasks";
    head.body_size = std::size_t{64} << 20U;
    active->on_message(node(3), wire::encode({n, std::move(head)}, "["));
  }
  std::string body = R"([{"project":"p","taskid":"a","url":"u"}])";
  body.resize(std::size_t{64} << 20U, ' ');
  EXPECT_EQ(call("POST", "/v1/tasks", body).status, 200);
}

TEST_F(two_fronts, carry_long_answers_in_parts_that_are_asked_for) {
  std::string url(500, 'u');
  for (int i = 0; i < 20'000; ++i)
    fake.tasks.push_back({"p", std::to_string(i), url, "{}", "{}", "", "", {}});
  const auto lines =
      call("GET", "/v1/projects/p/tasks", "", "Accept: application/x-ndjson\r\n"); // in parts
  EXPECT_EQ(lines.status, 200);
  EXPECT_EQ(std::count(lines.body.begin(), lines.body.end(), '\n'), 20'000);
  const auto list = call("GET", "/v1/projects/p/tasks?limit=10000"); // one long body
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(json::parse(list.body)["tasks"].size(), 10'000u);
  // Who does not read is not sent for.
  http_client slow(http->port());
  const auto before = wire.bytes();
  slow.request("GET", "/v1/projects/p/tasks", "", "Accept: application/x-ndjson\r\n");
  slow.read_until("\r\n\r\n");
  std::size_t now = 0;
  until([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return std::exchange(now, wire.bytes()) == now;
  });
  EXPECT_LT(wire.bytes() - before, lines.body.size());
}

TEST_F(two_fronts, keep_leases_waiting_and_answer_them_later) {
  http_client c(http->port());
  c.request("POST", "/v1/lease", R"({"wait":60,"consumer":"x"})");
  ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  EXPECT_EQ(fake.asked.consumer, "x");
  fake.waits[0](fake_node::one_task());
  const auto a = c.read();
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(json::parse(a.body)["tasks"].size(), 1u) << a.body;
  EXPECT_EQ(c.call("GET", "/healthz").status, 200); // the client is heard again: it has the tasks
  EXPECT_EQ(fake.released, 0u);
}

TEST_F(two_fronts, cancel_a_lease_whose_client_leaves) {
  {
    http_client c(http->port());
    c.request("POST", "/v1/lease", R"({"wait":60})");
    ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  }
  EXPECT_TRUE(until([&] { return fake.cancelled == 1; }));
  fake.waits[0](fake_node::one_task()); // on its way already
  EXPECT_TRUE(until([&] { return fake.released == 1; }));
}

TEST_F(two_fronts, give_leases_back_that_did_not_reach_the_client) {
  http_client c(http->port());
  c.request("POST", "/v1/lease", R"({"wait":60})");
  ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  fake.waits[0](fake_node::one_task());
  c.read_until("\r\n\r\n");
  c.reset(); // without a word
  EXPECT_TRUE(until([&] { return fake.released == 1; }));
}

TEST_F(two_fronts, answer_waiting_leases_when_the_replica_stops) {
  http_client c(http->port());
  c.request("POST", "/v1/lease", R"({"wait":60})");
  ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  http->stop_accepting();
  const auto a = c.read();
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, R"({"tasks":[]})");
  EXPECT_TRUE(until([&] { return fake.cancelled == 1; }));
}

TEST_F(two_fronts, stream_events_as_they_come_and_stop_with_the_client) {
  {
    http_client c(http->port());
    c.request("GET", "/v1/events?types=job_added");
    const auto head = c.read_until(": following\n\n");
    EXPECT_NE(head.find("text/event-stream"), std::string::npos) << head;
    happen(R"({"n":1})");
    EXPECT_NE(c.read_until("\"n\":1").find("event: JOB_ADDED"), std::string::npos);
    happen(R"({"n":2})");
    EXPECT_NE(c.read_until("\"n\":2"), "");
    EXPECT_EQ(fake.hub.readers(), 1u);
  }
  EXPECT_TRUE(until([&] { return fake.hub.readers() == 0; }));
}

TEST_F(two_fronts, hold_little_for_a_reader_of_events_that_does_not_read) {
  http_client c(http->port());
  c.request("GET", "/v1/events");
  c.read_until(": following\n\n");
  const auto before = wire.bytes();
  const std::string big = "\"" + std::string(100'000, 'x') + "\"";
  for (int i = 0; i < 400; ++i) { // 40 MB, though the hub keeps the last 8 only
    happen(big);
    std::this_thread::sleep_for(std::chrono::milliseconds{1}); // time to send it, if it would
  }
  EXPECT_LT(wire.bytes() - before, std::size_t{16} << 20U);
}

TEST_F(two_fronts, answer_503_when_the_active_node_goes) {
  http_client waiting(http->port()), events(http->port());
  waiting.request("POST", "/v1/lease", R"({"wait":60})");
  events.request("GET", "/v1/events");
  events.read_until(": following\n\n");
  ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  wire.cut();
  expect_unavailable(waiting.read());
  EXPECT_NE(events.read_until("0\r\n\r\n"), "") << "the stream ends in order";
  expect_unavailable(call("GET", "/v1/projects"));
  EXPECT_EQ(call("GET", "/readyz").status, 503);
  // The node that lost its client's node gives up what came from there.
  EXPECT_TRUE(until([&] { return fake.cancelled == 1 && fake.hub.readers() == 0; }));
}

TEST_F(two_fronts, answer_503_when_another_node_becomes_active) {
  http_client c(http->port());
  c.request("POST", "/v1/lease", R"({"wait":60})");
  ASSERT_TRUE(until([&] { return fake.waits.size() == 1; }));
  replica->forward_to(node(3));
  expect_unavailable(c.read());
  EXPECT_TRUE(until([&] { return fake.cancelled == 1; }));
  expect_unavailable(call("GET", "/v1/projects")); // nobody answers there
}

TEST_F(two_fronts, never_pass_a_request_on_twice) {
  active->withdraw("stepping down");
  active->release();
  active->forward_to(node(2)); // each takes the other for the active one
  const auto a = call("GET", "/v1/projects");
  expect_unavailable(a);
  EXPECT_NE(a.body.find("not the active one"), std::string::npos) << a.body;
}

TEST_F(two_fronts, follow_the_active_node_wherever_it_is) {
  fake_node own;
  own.projects["own"].name = "own";
  fake.projects["other"].name = "other";
  const auto names = [&] { return call("GET", "/v1/projects").body; };
  EXPECT_NE(names().find("other"), std::string::npos);
  EXPECT_EQ(call("GET", "/readyz").status, 200);
  replica->serve(own);
  EXPECT_NE(names().find("own"), std::string::npos);
  EXPECT_NE(call("GET", "/readyz").body.find("queues_loading"), std::string::npos);

  http_client waiting(http->port()), events(http->port());
  waiting.request("POST", "/v1/lease", R"({"wait":60})");
  events.request("GET", "/v1/events");
  events.read_until(": following\n\n");
  ASSERT_TRUE(until([&] {
    const std::lock_guard lock(own.mutex);
    return own.waits.size() == 1;
  }));
  replica->withdraw("this node steps down");
  expect_unavailable(call("GET", "/v1/projects"));
  const auto ready = call("GET", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("steps down"), std::string::npos) << ready.body;
  own.waits[0](fail(errc::unavailable, "", "stopping")); // as node::stop does
  EXPECT_EQ(waiting.read().status, 503);
  replica->release();
  EXPECT_EQ(own.hub.readers(), 0u);
  EXPECT_NE(events.read_until("0\r\n\r\n"), "");
  replica->forward_to(node(1));
  EXPECT_NE(names().find("other"), std::string::npos);
}

TEST_F(two_fronts, let_go_of_a_node_whatever_its_clients_still_hold) {
  auto own = std::make_unique<fake_node>();
  for (int i = 0; i < 20'000; ++i)
    own->tasks.push_back({"p", std::to_string(i), std::string(500, 'u'), "", "", "", "", {}});
  replica->serve(*own);
  http_client lease(http->port()), waiting(http->port()), events(http->port()), list(http->port());
  lease.request("POST", "/v1/lease", R"({"wait":0})");
  EXPECT_EQ(lease.read().status, 200);
  waiting.request("POST", "/v1/lease", R"({"wait":60})");
  events.request("GET", "/v1/events");
  events.read_until(": following\n\n");
  list.request("GET", "/v1/projects/p/tasks", "", "Accept: application/x-ndjson\r\n");
  list.read_until("\r\n\r\n"); // and not the rest
  ASSERT_TRUE(until([&] {
    const std::lock_guard lock(own->mutex);
    return own->waits.size() == 1;
  }));
  replica->withdraw("this node steps down");
  const auto late = std::move(own->waits[0]);
  replica->release();
  own = nullptr;
  late(fail(errc::unavailable, "", "stopping"));
  lease.reset(); // its tasks would be given back
  waiting.close();
  EXPECT_NE(list.ended(), false) << "a list that is not whole is broken off";
}

TEST_F(two_fronts, answer_some_addresses_themselves) {
  wire.cut();
  replica->withdraw("no quorum");
  EXPECT_EQ(call("GET", "/healthz").status, 200);
  EXPECT_EQ(call("GET", "/v1/cluster").body, R"({"mode":"test"})");
  EXPECT_EQ(call("POST", "/v1/cluster", "{}").status, 405);
  const auto page = call("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("text/html"), std::string::npos);
  EXPECT_EQ(call("GET", "/assets/none.js").status, 404);
  EXPECT_EQ(call("HEAD", "/readyz").status, 503);
}

TEST_F(two_fronts, pass_calls_of_pyspider_on) {
  server_config s;
  s.port = 0;
  s.threads = 1;
  auto made = server::start_xmlrpc(s, *replica);
  ASSERT_TRUE(made);
  xmlrpc = std::move(*made);
  const auto ask = [&](const char* method) {
    return http_client(xmlrpc->port())
        .call("POST", "/",
              std::string("<?xml version='1.0'?><methodCall><methodName>") + method
                  + "</methodName><params></params></methodCall>");
  };
  fake.projects["p"].name = "p";
  const auto a = ask("size");
  EXPECT_EQ(a.status, 200);
  EXPECT_NE(a.body.find("<int>3</int>"), std::string::npos) << a.body;
  EXPECT_EQ(ask("_quit").status, 200);
  EXPECT_TRUE(until([&] { return quits == 1; }));
}

TEST_F(two_fronts, wishes_of_the_cluster_are_taken_where_the_client_connects) {
  EXPECT_EQ(call("POST", "/v1/cluster/move", R"({"node":"n2"})").status, 202);
  EXPECT_EQ(door_.moved, "n2");
  EXPECT_EQ(call("POST", "/v1/cluster/move", R"({"node":""})").status, 202);
  EXPECT_EQ(door_.moved, "");
  EXPECT_EQ(call("POST", "/v1/cluster/move", R"({"node":"nobody"})").status, 404);
  EXPECT_EQ(call("POST", "/v1/cluster/drain", R"({"node":"n1"})").status, 202);
  EXPECT_EQ(door_.drained, "n1 on");
  EXPECT_EQ(call("POST", "/v1/cluster/drain", R"({"node":"n1","off":true})").status, 202);
  EXPECT_EQ(door_.drained, "n1 off");
  for (const auto* bad :
       {"", "[]", "{}", R"({"node":1})", R"({"node":""})", R"({"node":"n1","off":"yes"})"})
    EXPECT_EQ(call("POST", "/v1/cluster/drain", bad).status, 400) << bad;
  EXPECT_EQ(call("GET", "/v1/cluster/move").status, 405);
  EXPECT_EQ(door_.drained, "n1 off");
}

TEST_F(two_fronts, a_node_whose_lease_has_run_out_answers_nothing) {
  EXPECT_EQ(call("GET", "/v1/projects").status, 200);
  active->valid_until(mono_time{});
  const auto late = call("GET", "/v1/projects");
  EXPECT_EQ(late.status, 503) << late.body;
  active->valid_until(mono_time::max());
  EXPECT_EQ(call("GET", "/v1/projects").status, 200);
}

} // namespace
} // namespace lycosa::gateway
