#include "executors/function_executor.hpp"
#include "tests/executors/runs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace lycosa::executors {
namespace {

using test::runs;

jobs::action call(std::string name, std::string args = "null") {
  return jobs::function_action{std::move(name), std::move(args)};
}

/// Opens once, for all who wait for it.
class gate {
public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes{1}, [&] { return open_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class function_executor_test : public ::testing::Test {
protected:
  void make(std::size_t threads = 4, usec abandon_after = std::chrono::minutes{1}) {
    function_options o;
    o.threads = threads;
    o.abandon_after = abandon_after;
    o.find = [functions = functions_](const std::string& name) {
      const auto i = functions.find(name);
      return i == functions.end() ? nullptr : std::make_shared<const job_function>(i->second);
    };
    executor_ = make_function_executor(std::move(o));
  }
  void function(const std::string& name, job_function f) { functions_[name] = std::move(f); }

  std::map<std::string, job_function> functions_;
  std::unique_ptr<jobs::executor> executor_;
};

/// Returns when it is asked to end.
std::string until_asked(const function_call& c) {
  gate asked;
  const std::stop_callback on_stop(c.stop, [&] { asked.open(); });
  return asked.wait() ? "\"asked\"" : "\"never asked\"";
}

TEST_F(function_executor_test, a_function_gets_its_arguments_and_its_value_is_the_runs) {
  function("echo", [](const function_call& c) { return c.args + c.job_id; });
  make();
  const auto r = runs(*executor_).run(call("echo", "[1]"));
  EXPECT_EQ(r.outcome, jobs::run_outcome::success);
  EXPECT_EQ(r.value, "[1]nightly");
  EXPECT_EQ(r.error, "");
}

TEST_F(function_executor_test, what_a_function_throws_is_the_error_of_the_run) {
  function("throws", [](const function_call&) -> std::string {
    throw std::runtime_error("the disk\nis full");
  });
  function("odd", [](const function_call&) -> std::string { throw 7; });
  make();
  runs r(*executor_);
  const auto thrown = r.run(call("throws"));
  EXPECT_EQ(thrown.outcome, jobs::run_outcome::error);
  EXPECT_EQ(thrown.error, "the disk is full");
  EXPECT_EQ(r.run(call("odd")).outcome, jobs::run_outcome::error);
}

TEST_F(function_executor_test, a_name_that_nobody_registered_is_an_error_that_says_so) {
  make();
  const auto r = runs(*executor_).run(call("gone"));
  EXPECT_EQ(r.outcome, jobs::run_outcome::error);
  EXPECT_EQ(r.error, "no function is registered as gone");
}

TEST_F(function_executor_test, no_more_functions_are_called_at_a_time_than_there_are_threads) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  gate two;
  function("count", [&](const function_call&) {
    const int n = ++now;
    for (int seen = most; seen < n && !most.compare_exchange_weak(seen, n);) {
    }
    if (n == 2) two.open();
    two.wait();
    --now;
    return std::string();
  });
  make(2);
  runs r(*executor_);
  std::vector<runs::pending> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(r.start(call("count")));
  for (auto& p : all)
    EXPECT_EQ(p.wait().outcome, jobs::run_outcome::success);
  EXPECT_EQ(most, 2);
}

TEST_F(function_executor_test, at_its_time_out_a_function_is_asked_to_end) {
  function("patient", until_asked);
  make();
  const auto r = runs(*executor_).run(call("patient"), usec{1000});
  EXPECT_EQ(r.outcome, jobs::run_outcome::timeout);
  EXPECT_EQ(r.value, "\"asked\"");
  EXPECT_EQ(r.error, "its time of 0.001 s was up");
}

TEST_F(function_executor_test, one_that_ignores_its_time_out_is_left_behind_and_its_place_is_free) {
  gate end;
  gate ended;
  function("deaf", [&](const function_call&) {
    end.wait();
    ended.open();
    return std::string();
  });
  function("quick", [](const function_call&) { return std::string("1"); });
  make(1, usec{1000});
  runs r(*executor_);
  auto deaf = r.start(call("deaf"), usec{1000});
  auto quick = r.start(call("quick"));
  const auto result = deaf.wait();
  EXPECT_EQ(result.outcome, jobs::run_outcome::timeout);
  EXPECT_NE(result.error.find("left behind"), std::string::npos) << result.error;
  EXPECT_EQ(quick.wait().value, "1");
  end.open();
  EXPECT_TRUE(ended.wait());
}

TEST_F(function_executor_test, cancel_asks_the_one_that_runs_and_drops_the_one_that_waits) {
  gate running;
  function("patient", [&](const function_call& c) {
    running.open();
    return until_asked(c);
  });
  make(1);
  runs r(*executor_);
  auto first = r.start(call("patient"));
  ASSERT_TRUE(running.wait());
  auto second = r.start(call("patient"));
  executor_->cancel(second.key);
  EXPECT_EQ(second.wait().outcome, jobs::run_outcome::cancelled);
  executor_->cancel(first.key);
  EXPECT_EQ(first.wait().outcome, jobs::run_outcome::cancelled);
}

TEST_F(function_executor_test, stop_asks_all_and_leaves_behind_who_does_not_hear) {
  gate running;
  gate end;
  gate ended;
  function("deaf", [&](const function_call&) {
    running.open();
    end.wait();
    ended.open();
    return std::string();
  });
  make();
  runs r(*executor_);
  auto deaf = r.start(call("deaf"));
  ASSERT_TRUE(running.wait());
  executor_->stop(usec{1000});
  EXPECT_EQ(deaf.wait().outcome, jobs::run_outcome::cancelled);
  EXPECT_EQ(r.run(call("deaf")).outcome, jobs::run_outcome::cancelled); // none after a stop
  end.open();
  EXPECT_TRUE(ended.wait());
}

TEST_F(function_executor_test, stop_from_inside_a_function_and_from_a_done_does_not_wait) {
  function("stops", [&](const function_call&) {
    executor_->stop(std::chrono::minutes{1});
    return std::string();
  });
  make();
  EXPECT_EQ(runs(*executor_).run(call("stops")).outcome, jobs::run_outcome::cancelled);
  function("nothing", [](const function_call&) { return std::string(); });
  make();
  std::promise<void> done;
  jobs::run_request request;
  request.key = jobs::run_key{1};
  request.action = call("nothing");
  executor_->start(std::move(request), [&](jobs::run_result) {
    executor_->stop(std::chrono::minutes{1});
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::minutes{1}), std::future_status::ready);
}

} // namespace
} // namespace lycosa::executors
