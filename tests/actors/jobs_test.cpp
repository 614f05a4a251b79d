#include "actors/node.hpp"
#include "core/jobs/job_json.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>

namespace lycosa::actors {
namespace {

constexpr auto patience = std::chrono::seconds{60};

/// Keeps runs until a test ends them.
class manual_executor final : public jobs::executor {
public:
  void start(jobs::run_request request, done_handler done) override {
    const std::lock_guard lock(mutex_);
    open_.emplace_back(std::move(request), std::move(done));
    ++started_;
    changed_.notify_all();
  }
  void cancel(jobs::run_key key) override {
    end([&](const jobs::run_request& r) { return r.key == key; }, jobs::run_outcome::cancelled);
  }
  void stop(usec) override {
    end([](const jobs::run_request&) { return true; }, jobs::run_outcome::cancelled);
  }
  void finish_all() {
    end([](const jobs::run_request&) { return true; }, jobs::run_outcome::success);
  }
  bool wait_started(std::size_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return started_ >= n; });
  }

private:
  template <class Which>
  void end(Which which, jobs::run_outcome how) {
    std::vector<done_handler> ended;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(open_, [&](auto& run) {
        if (!which(run.first)) return false;
        ended.push_back(std::move(run.second));
        return true;
      });
    }
    jobs::run_result r;
    r.outcome = how;
    if (how != jobs::run_outcome::success) r.error = "cancelled";
    for (auto& done : ended)
      done(r);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<jobs::run_request, done_handler>> open_;
  std::size_t started_ = 0;
};

/// The answer to one request.
template <class T, class Ask>
result<T> answer(Ask ask) {
  auto given = std::make_shared<std::promise<result<T>>>();
  auto later = given->get_future();
  ask([given](result<T> r) { given->set_value(std::move(r)); });
  if (later.wait_for(patience) != std::future_status::ready)
    return fail(errc::internal, "test", "no answer came");
  return later.get();
}

class job_node : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam()) {
      std::string name = ::testing::TempDir() + "lycosa-jobs-XXXXXX";
      ASSERT_NE(::mkdtemp(name.data()), nullptr);
      dir_ = name;
    }
    open();
  }
  void TearDown() override {
    node_.reset();
    std::error_code ec;
    if (!dir_.empty()) std::filesystem::remove_all(dir_, ec);
  }
  void open() {
    executor_ = std::make_shared<manual_executor>();
    node_config config;
    config.data = dir_;
    config.shards = 1;
    config.map_size = 64 << 20;
    config.reserve = 1 << 20;
    config.jobs.executors.function = executor_;
    config.jobs.stop_wait = usec{0};
    auto opened = node::open(config);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    node_ = std::move(*opened);
  }
  void reopen() {
    node_->stop();
    node_.reset();
    open();
  }
  result<jobs::job> add(const std::string& id, const std::string& trigger,
                        const std::string& more = "") {
    auto in = jobs::parse_job(R"({"id":")" + id + R"(","trigger":)" + trigger
                                  + R"(,"action":{"type":"function","name":"f"})" + more + "}",
                              std::chrono::time_point_cast<usec>(std::chrono::system_clock::now()));
    if (!in) return tl::unexpected(in.error());
    return answer<jobs::job>(
        [&](auto done) { jobs_of().add(std::move(in->job), in->replace_existing, done); });
  }
  job_service& jobs_of() { return node_->jobs(); }
  result<run_page> runs(const std::string& id) {
    return answer<run_page>([&](auto done) { jobs_of().runs(id, 0, 100, done); });
  }

  std::string dir_;
  std::shared_ptr<manual_executor> executor_;
  std::unique_ptr<node> node_;
};

constexpr const char* far = R"({"type":"date","run_date":"2999-01-01T00:00:00Z"})";

/// A whole second, an hour ago.
wall_time an_hour_ago() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return now - std::chrono::hours{1};
}

std::string date_of(wall_time t) {
  return R"({"type":"date","run_date":"@)"
         + std::to_string(t.time_since_epoch().count() / 1'000'000) + "\"}";
}

TEST_P(job_node, a_due_job_runs_and_its_history_says_so) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> kinds;
  auto listening = jobs_of().subscribe(jobs::all_events, 100, [&](const jobs::job_event& e) {
    const std::lock_guard lock(mutex);
    kinds.emplace_back(to_string(e.kind));
    changed.notify_all();
  });
  ASSERT_TRUE(add("a", date_of(an_hour_ago()), R"(,"misfire_grace_time":null)"));
  ASSERT_TRUE(executor_->wait_started(1));
  auto page = runs("a");
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->runs.size(), 1u);
  EXPECT_EQ(page->runs[0].state, jobs::run_state::running);
  executor_->finish_all();
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, patience, [&] {
      return std::find(kinds.begin(), kinds.end(), "JOB_EXECUTED") != kinds.end();
    }));
    for (const auto* at_start : {"EXECUTOR_ADDED", "JOBSTORE_ADDED", "SCHEDULER_STARTED"})
      std::erase(kinds, at_start);
    EXPECT_EQ(kinds, (std::vector<std::string>{"JOB_ADDED", "JOB_SUBMITTED", "JOB_STARTED",
                                               "JOB_FINISHED", "JOB_EXECUTED"}));
  }
  listening.reset();
  page = runs("a");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->runs.at(0).state, jobs::run_state::success);
}

TEST_P(job_node, why_tells_of_a_missed_time) {
  const auto at = an_hour_ago();
  ASSERT_TRUE(add("a", date_of(at)));
  // The decision follows the answer to `add`; a change behind it makes sure it was taken.
  for (int i = 0; i < 100'000; ++i) {
    const auto r = runs("a");
    ASSERT_TRUE(r.has_value());
    if (!r->runs.empty()) break;
  }
  const auto why = answer<std::string>([&](auto done) { jobs_of().why("a", at, done); });
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("missed"), std::string::npos) << *why;
}

TEST_P(job_node, changes_are_answered_and_refused_by_name) {
  ASSERT_TRUE(add("a", far));
  const auto twice = add("a", far);
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().code, errc::conflict);
  EXPECT_TRUE(add("a", far, R"(,"replace_existing":true)"));
  const auto paused =
      answer<jobs::job>([&](auto done) { jobs_of().pause("a", "maintenance", done); });
  ASSERT_TRUE(paused.has_value());
  EXPECT_FALSE(paused->next_run_time());
  const auto missing = answer<jobs::job>([&](auto done) { jobs_of().get("b", done); });
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, errc::not_found);
  const auto unknown = add("c", far, R"(,"executor":"nowhere")");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().what, "executor");
  EXPECT_EQ(*answer<bool>([&](auto done) { jobs_of().remove("a", done); }), true);
  EXPECT_TRUE(answer<job_page>([&](auto done) { jobs_of().list("", 10, done); })->jobs.empty());
}

TEST_P(job_node, a_list_is_read_in_pages) {
  for (const char* id : {"a", "b", "c"})
    ASSERT_TRUE(add(id, far));
  auto page = answer<job_page>([&](auto done) { jobs_of().list("", 2, done); });
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->jobs.size(), 2u);
  page = answer<job_page>([&](auto done) { jobs_of().list(page->next, 2, done); });
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->jobs.size(), 1u);
  EXPECT_EQ(page->jobs[0].id, "c");
  EXPECT_TRUE(page->next.empty());
}

TEST_P(job_node, a_stop_ends_what_runs_and_records_it) {
  ASSERT_TRUE(add("a", far));
  ASSERT_TRUE(answer<jobs::run_record>([&](auto done) { jobs_of().run_now("a", done); }));
  ASSERT_TRUE(executor_->wait_started(1));
  if (dir_.empty()) return node_->stop();
  reopen();
  const auto page = runs("a");
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->runs.size(), 1u);
  EXPECT_EQ(page->runs[0].state, jobs::run_state::cancelled);
  const auto kept = answer<jobs::job>([&](auto done) { jobs_of().get("a", done); });
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(kept->next.has_value());
}

TEST_P(job_node, a_kind_of_action_nobody_carries_out_fails_and_says_so) {
  auto in = jobs::parse_job(
      R"({"id":"x","trigger":{"type":"date","run_date":"2999-01-01T00:00:00Z"},"action":{"type":"command","shell":"true"}})",
      wall_time{});
  ASSERT_TRUE(in.has_value());
  ASSERT_TRUE(answer<jobs::job>([&](auto done) { jobs_of().add(in->job, false, done); }));
  ASSERT_TRUE(answer<jobs::run_record>([&](auto done) { jobs_of().run_now("x", done); }));
  for (int i = 0; i < 100'000; ++i) {
    const auto page = runs("x");
    ASSERT_TRUE(page.has_value());
    if (!jobs::is_final(page->runs.at(0).state)) continue;
    EXPECT_EQ(page->runs[0].state, jobs::run_state::error);
    EXPECT_FALSE(page->runs[0].result.error.empty());
    return;
  }
  FAIL() << "the run did not end";
}

INSTANTIATE_TEST_SUITE_P(stores, job_node, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "lmdb" : "memory"; });

} // namespace
} // namespace lycosa::actors
