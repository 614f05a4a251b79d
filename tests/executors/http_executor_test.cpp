#include "executors/http_executor.hpp"
#include "tests/executors/runs.hpp"
#include "tests/executors/tiny_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace lycosa::executors {

using jobs::http_action;
using jobs::run_outcome;
using test::connection;
using test::http_request;
using test::tiny_server;
using testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

class http : public testing::Test {
protected:
  http() { remake({}); }

  void remake(http_options o) {
    o.proxy = ""; // whatever the machine's environment says
    auto made = make_http_executor(std::move(o));
    if (!made) throw std::runtime_error(made.error().text());
    executor = std::move(*made);
    runs = std::make_unique<test::runs>(*executor);
  }

  jobs::run_result run(http_action a, std::optional<usec> timeout = {}) {
    return runs->run(std::move(a), timeout);
  }

  std::unique_ptr<jobs::executor> executor;
  std::unique_ptr<test::runs> runs;
};

http_action get(std::string url) {
  http_action a;
  a.url = std::move(url);
  return a;
}

void say_ok(const http_request&, const connection& c) {
  c.answer(200, "fine\n");
}

/// "METHOD TARGET|body" of what arrived.
void echo(const http_request& q, const connection& c) {
  c.answer(200, q.method + " " + q.target + "|" + q.body);
}

/// Holds every request until its client or the server goes.
void hang(const http_request&, const connection& c) {
  c.wait_for_close();
}

} // namespace

// -- what counts as success --------------------------------------------------------------------

TEST_F(http, any_2xx_is_success) {
  const tiny_server s([](const http_request& q, const connection& c) {
    c.answer(std::stoi(q.target.substr(1)), "body");
  });
  for (const int status : {200, 201, 202, 299}) {
    const auto r = run(get(s.url("/" + std::to_string(status))));
    EXPECT_EQ(r.outcome, run_outcome::success);
    EXPECT_EQ(r.http_status, status);
    EXPECT_EQ(r.output, "body");
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.exit_code, std::nullopt);
  }
}

TEST_F(http, another_status_is_an_error_that_names_both) {
  const tiny_server s([](const http_request& q, const connection& c) {
    c.answer(std::stoi(q.target.substr(1)), "details");
  });
  for (const int status : {400, 404, 500, 503}) {
    const auto r = run(get(s.url("/" + std::to_string(status))));
    EXPECT_EQ(r.outcome, run_outcome::error);
    EXPECT_EQ(r.http_status, status);
    EXPECT_EQ(r.output, "details");
    EXPECT_EQ(r.error, "status " + std::to_string(status) + ", expected 2xx");
  }
}

TEST_F(http, the_expected_statuses_replace_2xx) {
  const tiny_server s([](const http_request& q, const connection& c) {
    c.answer(std::stoi(q.target.substr(1)), "");
  });
  auto a = get(s.url("/404"));
  a.expect_status = {404, 410};
  EXPECT_EQ(run(a).outcome, run_outcome::success);
  a.url = s.url("/200");
  EXPECT_EQ(run(a).error, "status 200, expected 404 or 410");
}

TEST_F(http, the_answer_must_hold_the_expected_text) {
  const tiny_server s([](const http_request&, const connection& c) { c.answer(200, "all green"); });
  auto a = get(s.url());
  a.expect_body = "green";
  EXPECT_EQ(run(a).outcome, run_outcome::success);
  a.expect_body = "red";
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.error, "the answer does not hold the expected text");
}

TEST_F(http, the_expected_text_is_found_before_the_kept_tail_and_across_pieces) {
  remake({.output_cap = 100});
  const tiny_server s([](const http_request&, const connection& c) {
    c.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n nee");
    c.send("dle ");
    c.send(std::string(1'000'000, '.'));
  });
  auto a = get(s.url());
  a.expect_body = "needle";
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_EQ(r.output, std::string(100, '.'));
  EXPECT_TRUE(r.output_cut);
}

TEST_F(http, a_json_answer_is_the_value) {
  const tiny_server s([](const http_request& q, const connection& c) {
    c.answer(200, q.target == "/bad" ? "{\"n\":" : "{\"n\":1}",
             q.target == "/text" ? "Content-Type: text/plain\r\n"
                                 : "Content-Type: Application/JSON; charset=utf-8\r\n");
  });
  EXPECT_EQ(run(get(s.url())).value, "{\"n\":1}");
  EXPECT_EQ(run(get(s.url("/text"))).value, "");
  const auto bad = run(get(s.url("/bad")));
  EXPECT_EQ(bad.value, "");
  EXPECT_EQ(bad.outcome, run_outcome::success);
}

// -- what is sent ------------------------------------------------------------------------------

TEST_F(http, methods_and_bodies_arrive) {
  const tiny_server s(echo);
  for (const auto* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"}) {
    auto a = get(s.url("/x?y=1"));
    a.method = method;
    EXPECT_EQ(run(a).output, std::string(method) + " /x?y=1|");
    a.body = std::string("a\0b", 3);
    EXPECT_EQ(run(a).output, std::string(method) + " /x?y=1|" + a.body);
  }
}

TEST_F(http, head_has_no_body) {
  const tiny_server s([](const http_request& q, const connection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\nX: " + q.method
           + "\r\n\r\n");
  });
  auto a = get(s.url());
  a.method = "HEAD";
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_EQ(r.output, "");
}

TEST_F(http, headers_arrive_as_given_and_no_others_are_made_up) {
  const tiny_server s([](const http_request& q, const connection& c) { c.answer(200, q.head); });
  auto a = get(s.url());
  a.method = "POST";
  a.body = "{}";
  EXPECT_THAT(run(a).output, Not(HasSubstr("Content-Type")));
  a.headers = {{"Content-Type", "application/json"}, {"X-Token", "a: b"}, {"X-Empty", ""}};
  const auto head = run(a).output;
  EXPECT_THAT(head, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Token: a: b\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Expect:")));
}

// -- what is refused ---------------------------------------------------------------------------

TEST_F(http, only_http_and_https) {
  for (const auto* url : {"file:///etc/passwd", "ftp://host/x", "gopher://host/", "dict://host/"}) {
    const auto r = run(get(url));
    EXPECT_EQ(r.outcome, run_outcome::error);
    EXPECT_THAT(r.error, HasSubstr("url: must be http or https"));
    EXPECT_EQ(r.output, "");
  }
}

TEST_F(http, bad_actions_are_refused_by_field) {
  for (const auto* url : {"", "host/path", "http://", "http://a b/"})
    EXPECT_THAT(run(get(url)).error, HasSubstr("url: ")) << url;
  auto a = get("http://127.0.0.1/");
  a.method = "GET / HTTP/1.1\r\nX: y";
  EXPECT_THAT(run(a).error, HasSubstr("method: "));
  a = get("http://127.0.0.1/");
  a.headers = {{"X", "1\r\nHost: other"}};
  EXPECT_THAT(run(a).error, HasSubstr("headers: "));
  a.headers = {{"X: y", "1"}};
  EXPECT_THAT(run(a).error, HasSubstr("headers: "));
  a = get("http://127.0.0.1/");
  a.expect_status = {20};
  EXPECT_THAT(run(a).error, HasSubstr("expect_status: "));
  EXPECT_THAT(runs->run(test::sh("true")).error, HasSubstr("is no http request"));
}

// -- redirects ---------------------------------------------------------------------------------

namespace {

/// /n redirects to /n-1; /0 answers.
void countdown(const http_request& q, const connection& c) {
  const int n = std::stoi(q.target.substr(1));
  if (n == 0)
    c.answer(200, q.method + " arrived");
  else
    c.answer(302, "elsewhere", "Location: /" + std::to_string(n - 1) + "\r\n");
}

} // namespace

TEST_F(http, redirects_are_followed_up_to_the_limit) {
  const tiny_server s(countdown);
  auto a = get(s.url("/3"));
  a.max_redirects = 3;
  EXPECT_EQ(run(a).output, "GET arrived");
  a.url = s.url("/4");
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_THAT(r.error, HasSubstr("redirects"));
  EXPECT_EQ(r.http_status, 302);
}

TEST_F(http, a_redirected_post_becomes_a_get) {
  const tiny_server s(countdown);
  auto a = get(s.url("/1"));
  a.method = "POST";
  a.body = "data";
  EXPECT_EQ(run(a).output, "GET arrived");
}

TEST_F(http, without_redirects_the_redirect_is_the_answer) {
  const tiny_server s(countdown);
  auto a = get(s.url("/1"));
  a.max_redirects = 0;
  EXPECT_EQ(run(a).error, "status 302, expected 2xx");
  a = get(s.url("/1"));
  a.expect_status = {302};
  EXPECT_EQ(run(a).outcome, run_outcome::success);
}

TEST_F(http, a_redirect_leads_to_no_other_protocol) {
  const tiny_server s([](const http_request&, const connection& c) {
    c.answer(302, "", "Location: file:///etc/passwd\r\n");
  });
  const auto r = run(get(s.url()));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_THAT(r.error, HasSubstr("file"));
  EXPECT_EQ(r.output, "");
}

TEST_F(http, credentials_are_not_sent_on_to_another_host) {
  const tiny_server other(
      [](const http_request& q, const connection& c) { c.answer(200, q.head); });
  const tiny_server first([&](const http_request&, const connection& c) {
    c.answer(302, "", "Location: http://localhost:" + std::to_string(other.port()) + "/\r\n");
  });
  auto a = get(first.url());
  a.headers = {{"Authorization", "Bearer secret"}};
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_THAT(r.output, Not(HasSubstr("secret")));
}

// -- failures, time-outs, cancel, stop ---------------------------------------------------------

TEST_F(http, a_refused_connection_says_so) {
  std::string url;
  {
    const tiny_server gone(say_ok);
    url = gone.url();
  }
  const auto r = run(get(url));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.http_status, std::nullopt);
  EXPECT_THAT(r.error, HasSubstr("Connection refused"));
}

TEST_F(http, an_answer_that_breaks_off_is_an_error) {
  const tiny_server s([](const http_request& q, const connection& c) {
    if (q.target == "/part") c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  const auto part = run(get(s.url("/part")));
  EXPECT_EQ(part.outcome, run_outcome::error);
  EXPECT_EQ(part.http_status, 200);
  EXPECT_EQ(part.output, "only this");
  const auto none = run(get(s.url("/none")));
  EXPECT_EQ(none.outcome, run_outcome::error);
  EXPECT_EQ(none.http_status, std::nullopt);
}

TEST_F(http, no_answer_is_a_time_out) {
  const tiny_server s(hang);
  const auto r = run(get(s.url()), 50ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_EQ(r.error, "timed out after 0.05 s");
}

TEST_F(http, an_answer_without_end_is_a_time_out) {
  const tiny_server s([](const http_request&, const connection& c) {
    c.send("HTTP/1.1 200 OK\r\n\r\n");
    while (c.send(std::string(65536, 'x'))) {
    }
  });
  const auto r = run(get(s.url()), 300ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_LE(r.output.size(), 64u * 1024);
}

TEST_F(http, of_a_huge_body_the_end_is_kept) {
  const tiny_server s([](const http_request&, const connection& c) {
    c.answer(200, std::string(20'000'000, 'x') + "end");
  });
  const auto r = run(get(s.url()));
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_TRUE(r.output_cut);
  EXPECT_EQ(r.output, std::string(64 * 1024 - 3, 'x') + "end");
}

TEST_F(http, cancel_ends_it) {
  const tiny_server s(hang);
  auto p = runs->start(get(s.url()));
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.outcome, run_outcome::cancelled);
  EXPECT_EQ(r.error, "cancelled");
  executor->cancel(p.key); // and again, when it is over
}

TEST_F(http, a_number_that_is_under_way_is_refused) {
  const tiny_server s(hang);
  jobs::run_request q;
  q.key = jobs::run_key{999};
  q.action = get(s.url());
  auto first = runs->start(q);
  auto second = runs->start(q);
  EXPECT_THAT(second.wait().error, HasSubstr("under way"));
  executor->cancel(q.key);
  EXPECT_EQ(first.wait().outcome, run_outcome::cancelled);
}

TEST_F(http, two_hundred_at_once) {
  std::atomic<int> waiting = 0;
  // None is answered until all have come: they truly run at the same time.
  const tiny_server s([&](const http_request& q, const connection& c) {
    if (++waiting == 200) waiting.notify_all();
    for (int n = waiting; n < 200; n = waiting)
      waiting.wait(n);
    echo(q, c);
  });
  std::vector<test::runs::pending> all;
  for (int i = 0; i < 200; ++i)
    all.push_back(runs->start(get(s.url("/" + std::to_string(i)))));
  for (int i = 0; i < 200; ++i) {
    const auto r = all[static_cast<std::size_t>(i)].wait();
    EXPECT_EQ(r.output, "GET /" + std::to_string(i) + "|") << r.error;
  }
}

TEST_F(http, stop_gives_requests_the_grace_and_then_ends_them) {
  const tiny_server slow(hang);
  std::vector<test::runs::pending> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(runs->start(get(slow.url())));
  executor->stop(100ms);
  for (auto& p : all) {
    ASSERT_EQ(p.result.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(p.result.get().outcome, run_outcome::cancelled);
  }
  EXPECT_EQ(run(get(slow.url())).error, "the executor has stopped");
}

TEST_F(http, a_request_that_is_answered_within_the_grace_succeeds) {
  std::promise<void> go;
  auto wait = go.get_future().share();
  const tiny_server s([wait](const http_request& q, const connection& c) {
    wait.wait();
    say_ok(q, c);
  });
  auto p = runs->start(get(s.url()));
  std::thread stopper([&] { executor->stop(1h); });
  go.set_value();
  EXPECT_EQ(p.wait().outcome, run_outcome::success);
  stopper.join();
}

TEST_F(http, stop_from_inside_a_handler_does_not_hang) {
  const tiny_server s(hang);
  auto other = runs->start(get(s.url()));
  std::promise<void> called;
  jobs::run_request q;
  q.key = jobs::run_key{1000};
  q.action = get("ftp://refused/");
  executor->start(q, [&](jobs::run_result) {
    executor->stop(0s);
    called.set_value();
  });
  called.get_future().wait();
  EXPECT_EQ(other.wait().outcome, run_outcome::cancelled);
}

} // namespace lycosa::executors
