#include "core/jobs/event.hpp"

#include "bridges/event_listeners.hpp"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>

namespace lycosa::bridges {
namespace {

using nlohmann::json;

constexpr auto patience = std::chrono::seconds{60};

/// Takes posts in place of an HTTP server.
class receiver final : public jobs::executor {
public:
  /// How the next posts are answered: statuses; 0 = not until `answer_held` or `cancel`.
  void answer_next(std::initializer_list<int> statuses) {
    const std::lock_guard lock(mutex_);
    plan_.insert(plan_.end(), statuses);
  }

  void start(jobs::run_request request, done_handler done) override {
    int status = 200;
    {
      const std::lock_guard lock(mutex_);
      if (!plan_.empty()) {
        status = plan_.front();
        plan_.pop_front();
      }
      posts_.push_back(std::get<jobs::http_action>(request.action));
      if (status == 0) held_.emplace_back(request.key, done);
    }
    changed_.notify_all();
    if (status != 0) done(result_of(status));
  }
  void cancel(jobs::run_key key) override {
    jobs::run_result r;
    r.outcome = jobs::run_outcome::cancelled;
    r.error = "cancelled";
    end_held([key](jobs::run_key k) { return k == key; }, r);
  }
  void stop(usec) override {}
  void answer_held(int status) {
    end_held([](jobs::run_key) { return true; }, result_of(status));
  }

  /// The posts' bodies once there are `n` of them.
  std::vector<json> wait_for_posts(std::size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, patience, [&] { return posts_.size() >= n; }));
    std::vector<json> out;
    for (const auto& p : posts_)
      out.push_back(json::parse(p.body));
    return out;
  }
  /// What was posted, without repetitions, once it holds an event about `job`.
  std::vector<json> wait_for_job(const std::string& job) {
    std::vector<json> all;
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, patience, [&] {
      all.clear();
      for (const auto& p : posts_)
        for (auto& e : json::parse(p.body))
          all.push_back(std::move(e));
      return !all.empty() && all.back().value("job", "") == job;
    }));
    return all;
  }
  std::vector<jobs::http_action> posts() {
    const std::lock_guard lock(mutex_);
    return posts_;
  }

private:
  static jobs::run_result result_of(int status) {
    jobs::run_result r;
    r.http_status = status;
    if (status / 100 != 2) {
      r.outcome = jobs::run_outcome::error;
      r.error = "answered with " + std::to_string(status);
    }
    return r;
  }
  template <class Pred>
  void end_held(Pred wanted, const jobs::run_result& r) {
    std::vector<done_handler> due;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [key, done] : held_)
        if (wanted(key) && done) due.push_back(std::exchange(done, nullptr));
    }
    for (const auto& done : due)
      done(r);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> plan_;
  std::vector<jobs::http_action> posts_;
  std::vector<std::pair<jobs::run_key, done_handler>> held_;
};

struct webhook_test : testing::Test {
  actors::event_hub hub{{"A", "B"}, 7, {20, 1U << 20U}};

  void happen(const std::string& job, unsigned type = 0) {
    std::vector<actors::event_item> one(1);
    one[0].type = type;
    one[0].job = job;
    one[0].json = [job] { return json{{"job", job}}.dump(); };
    hub.publish(std::move(one));
  }
  void happen(int from, int to) {
    for (int i = from; i < to; ++i)
      happen(std::to_string(i));
  }
  std::unique_ptr<event_listener> start(const std::shared_ptr<receiver>& to,
                                        std::size_t batch = 100, const std::string& types = "") {
    webhook_config c;
    c.name = "test";
    c.url = "http://example.org/hook";
    c.types = types;
    c.headers = {{"X-Key", "yes"}};
    c.batch = batch;
    c.first_pause = c.longest_pause = usec{1};
    auto made = start_webhook(std::move(c), hub, to);
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
  static std::vector<std::string> jobs_of(const json& list) {
    std::vector<std::string> out;
    for (const auto& e : list)
      out.push_back(e.value("job", "gap"));
    return out;
  }
  static std::vector<std::string> numbers(int from, int to) {
    std::vector<std::string> out;
    for (int i = from; i < to; ++i)
      out.push_back(std::to_string(i));
    return out;
  }

  std::shared_ptr<receiver> to = std::make_shared<receiver>();
};

TEST_F(webhook_test, posts_lists_in_order_from_the_start_of_the_node) {
  happen(0, 5);
  const auto hook = start(to, 2);
  const auto posts = to->wait_for_posts(3);
  EXPECT_EQ(jobs_of(posts[0]), numbers(0, 2));
  EXPECT_EQ(jobs_of(posts[1]), numbers(2, 4));
  EXPECT_EQ(jobs_of(posts[2]), numbers(4, 5));
  EXPECT_EQ(posts[0][0]["id"], "7-1");
  happen(5, 6);
  EXPECT_EQ(jobs_of(to->wait_for_posts(4)[3]), numbers(5, 6));
  const auto sent = to->posts().front();
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url, "http://example.org/hook");
  using header = std::pair<std::string, std::string>;
  EXPECT_EQ(sent.headers,
            (std::vector<header>{{"X-Key", "yes"}, {"Content-Type", "application/json"}}));
}

TEST_F(webhook_test, posts_only_the_types_asked_for) {
  happen("a", 0);
  happen("b", 1);
  const auto hook = start(to, 100, "b");
  EXPECT_EQ(jobs_of(to->wait_for_posts(1)[0]), std::vector<std::string>{"b"});
}

TEST_F(webhook_test, a_refused_list_is_repeated_until_it_is_taken_and_keeps_its_place) {
  to->answer_next({500, 404, 302});
  happen(0, 2);
  const auto hook = start(to);
  auto posts = to->wait_for_posts(4);
  happen(2, 4);
  posts = to->wait_for_posts(5);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(posts[i], posts[0]);
  const auto all = to->wait_for_job("3");
  std::vector<std::string> after;
  for (std::size_t i = 8; i < all.size(); ++i)
    after.push_back(all[i].value("job", "gap"));
  EXPECT_EQ(after, numbers(2, 4));
}

TEST_F(webhook_test, a_stalled_receiver_holds_up_neither_the_node_nor_others_and_is_told_its_gap) {
  to->answer_next({0});
  auto other = std::make_shared<receiver>();
  happen("first");
  const auto hook = start(to);
  to->wait_for_posts(1);
  const auto quick = start(other);
  other->wait_for_job("first");
  for (int i = 0; i < 100; ++i) { // five times what the hub holds
    happen(i, i + 1);
    if (i % 10 == 9) other->wait_for_job(std::to_string(i));
  }
  auto all = other->wait_for_job("99");
  auto expected = numbers(0, 100);
  expected.insert(expected.begin(), "first");
  EXPECT_EQ(jobs_of(all), expected); // no gap, in order

  to->answer_held(204);
  all = to->wait_for_job("99");
  expected = numbers(80, 100);
  expected.insert(expected.begin(), {"first", "gap"});
  EXPECT_EQ(jobs_of(all), expected);
  EXPECT_EQ(all[1]["type"], "GAP");
  EXPECT_EQ(all[1]["missing"], 80);
  EXPECT_EQ(all[1]["id"], "7-81");
}

TEST_F(webhook_test, at_the_end_what_is_left_is_posted) {
  to->answer_next({0});
  happen("first");
  const auto hook = start(to);
  to->wait_for_posts(1);
  happen("last");
  hub.close();
  hook->begin_stop();
  to->answer_held(200);
  hook->stop();
  EXPECT_EQ(jobs_of(to->wait_for_job("last")), (std::vector<std::string>{"first", "last"}));
}

TEST_F(webhook_test, the_end_does_not_wait_for_a_receiver_that_does_not_answer) {
  to->answer_next({0, 0, 0});
  happen("first");
  const auto hook = start(to);
  to->wait_for_posts(1);
  happen("last");
  hook->stop(); // would not return
  EXPECT_EQ(to->posts().size(), 1u);
}

TEST_F(webhook_test, the_end_does_not_wait_for_a_receiver_that_refuses) {
  to->answer_next({500});
  happen("first");
  webhook_config c;
  c.url = "http://example.org/";
  c.first_pause = c.longest_pause = std::chrono::hours{1};
  const auto hook = start_webhook(std::move(c), hub, to);
  to->wait_for_posts(1);
  (*hook)->stop();
  EXPECT_EQ(to->posts().size(), 1u);
}

TEST_F(webhook_test, what_makes_no_sense_is_refused) {
  webhook_config c;
  c.url = "ftp://example.org";
  EXPECT_EQ(start_webhook(c, hub, to).error().what, "url");
  c.url = "https://example.org";
  c.types = "A,nonsense";
  EXPECT_EQ(start_webhook(c, hub, to).error().what, "types");
  EXPECT_EQ(start_event_log("nonsense", hub).error().what, "types");
  EXPECT_EQ(hub.readers(), 0u);
}

TEST(webhook_headers, are_one_a_line) {
  using header = std::pair<std::string, std::string>;
  EXPECT_EQ(parse_headers("A: b c\r\nX-Y:z:1 \n\nEmpty:").value(),
            (std::vector<header>{{"A", "b c"}, {"X-Y", "z:1"}, {"Empty", ""}}));
  EXPECT_EQ(parse_headers("").value(), std::vector<header>{});
  for (const auto* bad : {"nothing", ": x", "A: b\nnothing"})
    EXPECT_EQ(parse_headers(bad).error().what, "headers") << bad;
}

} // namespace
} // namespace lycosa::bridges
