#include "tests/embed/support.hpp"

#include <future>
#include <sstream>

namespace lycosa {
namespace {

using namespace std::chrono_literals;
using embed::test::at_once;
using embed::test::directory;
using embed::test::ended_run;
using embed::test::far;
using embed::test::log;

TEST(embedded_life, a_run_is_told_in_order_and_the_end_is_told_last) {
  log seen;
  scheduler s;
  const auto sub = s.on(events::all, [&](const event& e) { seen.add(std::string(e.name())); });
  s.add_job("a", at_once(), [] {});
  s.start();
  ASSERT_TRUE(seen.wait_for("JOB_EXECUTED"));
  s.shutdown();
  EXPECT_EQ(seen.lines(),
            (std::vector<std::string>{"EXECUTOR_ADDED", "JOBSTORE_ADDED", "JOB_ADDED",
                                      "SCHEDULER_STARTED", "JOB_SUBMITTED", "JOB_STARTED",
                                      "JOB_FINISHED", "JOB_EXECUTED", "SCHEDULER_SHUTDOWN"}));
}

TEST(embedded_life, a_listener_hears_only_what_it_asked_for_and_may_throw) {
  log seen;
  scheduler s;
  const auto sub = s.on(events::job_error | events::job_missed, [&](const event& e) {
    seen.add(e.job_id + " " + e.run->error);
    throw std::runtime_error("listener");
  });
  s.start();
  s.add_job("good", at_once(), [] {});
  s.add_job("bad", at_once(), [] { throw std::runtime_error("one"); });
  ASSERT_TRUE(seen.wait_for("bad one"));
  s.add_job("worse", at_once(), [] { throw std::runtime_error("two"); });
  ASSERT_TRUE(seen.wait_for("worse two"));
  EXPECT_EQ(seen.lines().size(), 2u);
}

TEST(embedded_life, after_a_subscription_has_ended_nothing_is_called) {
  log seen;
  scheduler s;
  s.start();
  auto gone = s.on(events::job_added, [&](const event& e) { seen.add("gone " + e.job_id); });
  const auto stays = s.on(events::job_added, [&](const event& e) { seen.add(e.job_id); });
  s.add_job("a", far(), [] {});
  ASSERT_TRUE(seen.wait_for("gone a"));
  gone.end();
  s.add_job("b", far(), [] {});
  ASSERT_TRUE(seen.wait_for("b"));
  EXPECT_EQ(seen.lines().size(), 3u);
}

TEST(embedded_life, before_the_start_jobs_are_pending_and_can_be_changed) {
  scheduler s;
  s.add_job("a", every(1h), [] { return 1; });
  s.add_job("b", far(), [] {});
  const auto a = s.get("a");
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->pending);
  EXPECT_FALSE(a->next_run_time);
  EXPECT_FALSE(a->finished);
  EXPECT_TRUE(s.next("a").empty());
  EXPECT_THROW(s.run_now("a"), scheduler_error);
  std::ostringstream text;
  s.print_jobs(text);
  EXPECT_EQ(text.str().substr(0, text.str().find('\n')), "a (trigger: every 1h, pending)");
  s.pause("a", "wait");
  s.resume("a");
  EXPECT_TRUE(s.remove("b"));
  const auto before = std::chrono::system_clock::now();
  s.start();
  s.start();
  EXPECT_TRUE(s.running());
  EXPECT_EQ(s.list().size(), 1u);
  EXPECT_FALSE(s.get("a")->pending);
  EXPECT_GE(*s.get("a")->next_run_time, before + 59min);
  s.run_now("a");
  EXPECT_EQ(ended_run(s, "a").value, "1");
}

TEST(embedded_life, started_paused_nothing_begins_before_it_is_resumed) {
  log seen;
  scheduler s({.start_paused = true});
  s.add_job("due", at_once(), [&] { seen.add("due"); });
  s.add_job("boot", "@reboot", [&] { seen.add("boot"); });
  s.start();
  s.add_job("asked", far(), [&] { seen.add("asked"); });
  s.run_now("asked");
  ASSERT_TRUE(seen.wait_for("asked"));
  EXPECT_EQ(seen.lines().size(), 1u);
  s.resume_all();
  EXPECT_TRUE(seen.wait_for("due"));
  EXPECT_TRUE(seen.wait_for("boot"));
}

TEST(embedded_life, run_returns_after_a_shutdown_from_inside_a_job) {
  scheduler s;
  s.add_job("last", at_once(), [&] {
    s.shutdown();
    s.shutdown();
    return 5;
  });
  s.run();
  EXPECT_FALSE(s.running());
  EXPECT_THROW(s.start(), scheduler_error);
  EXPECT_THROW(s.list(), scheduler_error);
  s.shutdown();
}

TEST(embedded_life, a_listener_may_end_it) {
  scheduler s;
  const auto sub = s.on(events::job_executed, [&](const event&) {
    s.shutdown();
    s.shutdown(false);
  });
  s.add_job("once", at_once(), [] {});
  s.run();
  EXPECT_FALSE(s.running());
}

TEST(embedded_life, a_job_may_destroy_its_scheduler) {
  auto s = std::make_shared<scheduler>();
  auto ended = std::make_shared<std::promise<void>>();
  auto later = ended->get_future();
  s->add_job("last", at_once(), [s = std::weak_ptr(s), ended, kept = std::make_shared<int>(1)] {
    auto mine = s.lock();
    mine.reset();
    ended->set_value();
  });
  s->start();
  EXPECT_EQ(later.wait_for(embed::test::patience), std::future_status::ready);
  s.reset();
}

TEST(embedded_life, shutdown_waits_for_what_runs_and_keeps_its_end) {
  directory dir;
  std::promise<void> go;
  log seen;
  {
    scheduler s({.data = dir.path()});
    s.add_job("slow", far(), [&, may = go.get_future().share()] {
      seen.add("runs");
      may.wait();
      seen.add("ends");
    });
    s.start();
    s.run_now("slow");
    ASSERT_TRUE(seen.wait_for("runs"));
    auto down = std::async(std::launch::async, [&] { s.shutdown(); });
    go.set_value();
    down.get();
    EXPECT_EQ(seen.lines().back(), "ends");
  }
  scheduler s({.data = dir.path(), .start_paused = true});
  s.start();
  EXPECT_EQ(s.runs("slow").front().state, run_state::success);
}

TEST(embedded_life, past_the_deadline_a_job_that_hangs_is_left_behind) {
  directory dir;
  auto go = std::make_shared<std::promise<void>>();
  auto seen = std::make_shared<log>();
  {
    scheduler s({.data = dir.path(), .end_grace = 1ms});
    s.add_job("deaf", far(), [seen, may = go->get_future().share()] {
      seen->add("runs");
      may.wait();
      seen->add("ends");
    });
    s.start();
    s.run_now("deaf");
    ASSERT_TRUE(seen->wait_for("runs"));
    s.shutdown(true, 1ms);
    EXPECT_EQ(seen->lines().size(), 1u);
  }
  go->set_value();
  EXPECT_TRUE(seen->wait_for("ends"));
  scheduler s({.data = dir.path(), .start_paused = true});
  s.start();
  const auto r = s.runs("deaf").front();
  EXPECT_EQ(r.state, run_state::cancelled);
  EXPECT_NE(r.error.find("left behind"), std::string::npos) << r.error;
}

TEST(embedded_life, without_waiting_a_job_is_asked_to_end) {
  log seen;
  scheduler s;
  s.add_job("polite", far(), [&](run_context& c) {
    seen.add("runs");
    while (!c.cancelled().stop_requested())
      std::this_thread::yield();
    seen.add("asked");
  });
  s.start();
  s.run_now("polite");
  ASSERT_TRUE(seen.wait_for("runs"));
  s.shutdown(false);
  EXPECT_TRUE(seen.wait_for("asked"));
}

TEST(embedded_life, opens_no_socket_and_no_thread_before_the_start) {
  const auto count = [](const char* dir, const std::string& prefix) {
    std::size_t n = 0;
    std::error_code ec;
    for (const auto& e : std::filesystem::directory_iterator(dir))
      n += prefix.empty()
           || std::filesystem::read_symlink(e, ec).string().compare(0, prefix.size(), prefix) == 0;
    return n;
  };
  const auto sockets = count("/proc/self/fd", "socket:");
  const auto threads = count("/proc/self/task", "");
  directory dir;
  scheduler s({.data = dir.path()});
  s.add_job("a", at_once(), [] {});
  EXPECT_EQ(count("/proc/self/task", ""), threads);
  s.start();
  EXPECT_EQ(ended_run(s, "a").state, run_state::success);
  EXPECT_EQ(count("/proc/self/fd", "socket:"), sockets);
}

TEST(embedded_store, jobs_and_runs_are_there_after_a_restart) {
  directory dir;
  std::optional<time_point> next;
  {
    scheduler s({.data = dir.path()});
    s.function("cleanup", [](int days) { return days; });
    s.start();
    s.add_job("c", every(1h), call("cleanup", 3));
    s.run_now("c");
    EXPECT_EQ(ended_run(s, "c").value, "3");
    next = s.get("c")->next_run_time;
    EXPECT_THROW(s.add_job("", far(), [] {}), scheduler_error);
  }
  scheduler s({.data = dir.path()});
  s.start();
  EXPECT_EQ(s.get("c")->next_run_time, next);
  EXPECT_EQ(s.runs("c").size(), 1u);
  s.run_now("c"); // the function is not registered: the job says so, and stays
  log seen;
  EXPECT_EQ(ended_run(s, "c").error, "no function is registered as cleanup");
  s.function("cleanup", [](int days) { return days + 1; });
  s.run_now("c");
  EXPECT_EQ(ended_run(s, "c").value, "4");
}

TEST(embedded_store, a_job_declared_again_keeps_its_next_time) {
  directory dir;
  std::optional<time_point> next;
  for (int start = 0; start < 3; ++start) {
    scheduler s({.data = dir.path()});
    s.scheduled("hourly", every(1h)) = [start] { return start; };
    s.start();
    const auto at = s.get("hourly")->next_run_time;
    EXPECT_EQ(at, next ? next : at);
    next = at;
    s.run_now("hourly");
    EXPECT_EQ(ended_run(s, "hourly").value, std::to_string(start));
  }
}

TEST(embedded_store, a_pending_job_that_is_stored_already_keeps_it_from_starting) {
  directory dir;
  {
    scheduler s({.data = dir.path()});
    s.add_job("a", far(), [] {});
    s.start();
  }
  scheduler s({.data = dir.path()});
  s.add_job("a", every(1h), [] {});
  s.add_job("b", far(), [] {});
  EXPECT_THROW(s.start(), scheduler_error);
  EXPECT_FALSE(s.running());
  EXPECT_TRUE(s.get("a")->pending);
  s.remove("a");
  s.start();
  EXPECT_EQ(s.list().size(), 2u);
  scheduler second({.data = dir.path()});
  EXPECT_THROW(second.start(), scheduler_error); // one program at a time
}

} // namespace
} // namespace lycosa
