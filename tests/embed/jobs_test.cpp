#include "tests/embed/support.hpp"

#include <atomic>
#include <memory>
#include <sstream>

namespace lycosa {
namespace {

using namespace std::chrono_literals;
using embed::test::at_once;
using embed::test::ended_run;
using embed::test::far;

/// The failure of a call, as `kind field: reason`.
template <class Call>
std::string refused(Call call) {
  try {
    call();
  } catch (const scheduler_error& e) {
    return std::to_string(static_cast<int>(e.kind())) + " " + e.what();
  }
  return "it was taken";
}

TEST(embedded_jobs, a_function_gets_its_arguments_and_its_value_is_kept) {
  scheduler s;
  s.start();
  s.add_job(
      "sum", at_once(), [](int a, const std::string& b) { return b + std::to_string(a); }, 3, "x");
  const auto r = ended_run(s, "sum");
  EXPECT_EQ(r.state, run_state::success);
  EXPECT_EQ(r.value, "\"x3\"");
  EXPECT_TRUE(s.get("sum")->finished);
}

TEST(embedded_jobs, a_function_may_ask_what_run_it_is) {
  scheduler s;
  s.start();
  s.add_job(
      "who", far(),
      [](run_context& c, std::unique_ptr<int> const& n) {
        return c.job_id() + std::to_string(c.attempt() + static_cast<unsigned>(*n))
               + (c.cancelled().stop_requested() ? "!" : ".");
      },
      std::make_unique<int>(7));
  s.run_now("who");
  EXPECT_EQ(ended_run(s, "who").value, "\"who7.\"");
}

static_assert(detail::takes<void (*)(int, std::string), int, std::string>);
static_assert(!detail::takes<void (*)(int, std::string), int>);
static_assert(!detail::takes<void (*)(int), std::string>);

TEST(embedded_jobs, what_a_function_throws_is_the_error_of_its_run) {
  scheduler s;
  s.start();
  s.add_job("bad", at_once(), [] { throw std::runtime_error("no disk"); });
  const auto r = ended_run(s, "bad");
  EXPECT_EQ(r.state, run_state::error);
  EXPECT_EQ(r.error, "no disk");
}

TEST(embedded_jobs, a_failed_run_is_tried_again) {
  scheduler s;
  s.start();
  s.add_job("flaky", at_once(), {.retries = 2, .retry_delay = {{0s}}}, [](run_context& c) {
    if (c.attempt() < 2) throw std::runtime_error("not yet");
  });
  const auto r = ended_run(s, "flaky");
  EXPECT_EQ(r.state, run_state::success);
  EXPECT_EQ(r.attempt, 2u);
}

TEST(embedded_jobs, at_its_time_out_a_function_is_asked_to_end) {
  scheduler s;
  s.start();
  s.add_job("long", at_once(), {.timeout = 1ms}, [](run_context& c) {
    while (!c.cancelled().stop_requested())
      std::this_thread::yield();
  });
  EXPECT_EQ(ended_run(s, "long").state, run_state::timeout);
}

TEST(embedded_jobs, registered_functions_read_their_arguments_from_json) {
  scheduler s;
  s.function("cleanup",
             [](int days, const std::vector<std::string>& dirs, std::optional<double> x) {
               return std::map<std::string, std::size_t>{
                   {"dirs", dirs.size() + static_cast<unsigned>(days)}, {"x", x ? 1 : 0}};
             });
  s.function(
      "plain", +[](run_context& c) { return c.job_id(); });
  s.start();
  s.add_job("c", at_once(), call("cleanup", 3, std::vector<std::string>{"a"}, json_text{"null"}));
  EXPECT_EQ(ended_run(s, "c").value, R"({"dirs":4,"x":0})");
  s.add_job("p", at_once(), call("plain"));
  EXPECT_EQ(ended_run(s, "p").value, "\"p\"");
  s.add_job("few", at_once(), call("cleanup", 3));
  EXPECT_EQ(ended_run(s, "few").error, "args: the function takes 3, not 1");
  s.add_job("odd", at_once(), call("cleanup", "three", std::vector<std::string>{}, 1.5));
  EXPECT_EQ(ended_run(s, "odd").error, "args[0]: expected a whole number, not \"three\"");
}

TEST(embedded_jobs, a_function_nobody_registered_is_an_error_of_the_run_and_the_job_stays) {
  scheduler s;
  s.start();
  s.add_job("lost", at_once(), call("nowhere"));
  const auto r = ended_run(s, "lost");
  EXPECT_EQ(r.state, run_state::error);
  EXPECT_EQ(r.error, "no function is registered as nowhere");
  EXPECT_TRUE(s.get("lost").has_value());
}

TEST(embedded_jobs, commands_run_as_well) {
  scheduler s;
  s.start();
  s.add_job("echo", at_once(), command({"/bin/echo", "hello"}));
  s.add_job_json(R"({"id":"fail","trigger":{"type":"date"},
                     "action":{"type":"command","shell":"exit 3"}})");
  EXPECT_EQ(ended_run(s, "echo").output, "hello\n");
  EXPECT_EQ(ended_run(s, "fail").state, run_state::error);
}

TEST(embedded_jobs, an_actor_that_is_not_there_is_an_error_of_the_run) {
  scheduler s;
  s.start();
  s.add_job("far", at_once(), ask("greeter@127.0.0.1:1", std::vector<int>{1}));
  s.add_job("near", at_once(), ask("greeter"));
  EXPECT_EQ(ended_run(s, "far").error, "127.0.0.1:1: Connection refused");
  EXPECT_EQ(ended_run(s, "near").error, "no actor is named greeter in this process");
  EXPECT_EQ(refused([&] { s.add_job("bad", far(), ask("greeter@host")); }),
            "0 action.name: the port is missing: NAME@HOST:PORT");
}

TEST(embedded_jobs, declared_where_the_function_is) {
  scheduler s;
  s.start();
  s.scheduled("report", cron("0 6 * * *"), {.name = "morning report"}) = [] { return 1; };
  s.scheduled("report", cron("0 6 * * *")) = [] { return 2; };
  s.run_now("report");
  EXPECT_EQ(ended_run(s, "report").value, "2");
  EXPECT_EQ(s.list().size(), 1u);
}

TEST(embedded_jobs, an_id_that_exists_is_refused_and_its_function_stays) {
  scheduler s;
  s.start();
  s.add_job("a", far(), [] { return 1; });
  EXPECT_EQ(refused([&] { s.add_job("a", far(), [] { return 2; }); }), "2 id: job a exists");
  EXPECT_EQ(refused([&] { s.add_job("a", "61 * * * *", [] { return 2; }); }).substr(0, 9),
            "0 trigger");
  s.run_now("a");
  EXPECT_EQ(ended_run(s, "a").value, "1");
}

TEST(embedded_jobs, schedules_of_all_kinds_are_understood) {
  using namespace std::chrono;
  const sys_days day{year{2099} / 1 / 1};
  scheduler s({.timezone = "UTC"});
  s.start();
  const auto first = [&](const schedule& when) {
    s.add_job("j", when.in_zone("UTC"), {.replace_existing = true}, [] {});
    const auto times = s.next("j");
    return times.empty() ? -1 : (times.front() - day) / 1s;
  };
  EXPECT_EQ(first(at(day + 5s)), 5);
  EXPECT_EQ(first(every(10s).starting(day + 1s)), 1);
  EXPECT_EQ(first(schedule("*/5 * * * *").starting(day + 1s)), 300);
  EXPECT_EQ(first(cron("0 8 * * *").starting(day)), 8 * 3600);
  EXPECT_EQ(first(cron({.hour = "9", .minute = "30"}).starting(day)), 9 * 3600 + 1800);
  EXPECT_EQ(first(calendar({.days = 1, .hour = 2}).starting(day)), 2 * 3600);
  EXPECT_EQ(first(oncalendar("2099-01-01 00:00:07")), 7);
  EXPECT_EQ(first(any_of({at(day + 5s), at(day + 3s)})), 3);
  EXPECT_EQ(first(all_of({every(2s).starting(day + 2s), every(3s).starting(day + 3s)})), 6);
  EXPECT_EQ(first(R"({"type":"date","run_date":"2099-01-01T00:01:00Z"})"), 60);
}

TEST(embedded_jobs, are_changed_paused_resumed_moved_and_removed) {
  scheduler s({.job_defaults = {.misfire_grace_time = 5s}});
  s.start();
  s.add_job("j", far(), [] {});
  EXPECT_NE(s.get("j")->json.find(R"("misfire_grace_time":5)"), std::string::npos);
  EXPECT_EQ(s.modify("j", R"({"name":"new"})").name, "new");
  EXPECT_NE(s.modify("j", {.retries = 4}).json.find(R"("retries":4)"), std::string::npos);
  const auto paused = s.pause("j", "for a test");
  EXPECT_TRUE(paused.paused);
  EXPECT_FALSE(paused.next_run_time);
  EXPECT_EQ(s.why("j"), "the job is paused: for a test");
  EXPECT_TRUE(s.resume("j").next_run_time);
  const auto moved = s.reschedule("j", every(1h));
  EXPECT_LT(*moved.next_run_time, std::chrono::system_clock::now() + 2h);
  EXPECT_EQ(s.next("j", 3).size(), 3u);
  EXPECT_TRUE(s.remove("j"));
  EXPECT_FALSE(s.remove("j"));
  EXPECT_FALSE(s.get("j"));
  EXPECT_EQ(refused([&] { s.run_now("j"); }), "1 j: no such job");
  s.add_job("", far(), [] {});
  s.add_job("", far(), [] {});
  EXPECT_EQ(s.remove_all(), 2u);
}

TEST(embedded_jobs, are_printed_exported_and_imported) {
  scheduler s({.timezone = "UTC"});
  s.start();
  s.add_job("a", cron("0 8 * * *"), shell("true"), {.name = "morning"});
  s.add_job("b", at(std::chrono::sys_days{std::chrono::year{2999} / 1 / 1}), shell("true"));
  s.add_job("c", far(), shell("true"), {.paused = "later"});
  std::ostringstream text;
  s.print_jobs(text);
  EXPECT_NE(text.str().find("morning (trigger: 0 8 * * *, next run at: "), std::string::npos)
      << text.str();
  EXPECT_NE(text.str().find("next run at: 2999-01-01T00:00:00+00:00)"), std::string::npos);
  EXPECT_NE(text.str().find(", paused: later)"), std::string::npos);
  scheduler t;
  t.start();
  EXPECT_EQ(t.import_json(s.export_json()).added, 3u);
  EXPECT_TRUE(t.get("c")->paused);
  EXPECT_EQ(t.import_json(s.export_json()).refused.size(), 3u);
  EXPECT_EQ(t.import_json(s.export_json(), true).added, 3u);
  EXPECT_NE(refused([&] { t.import_json(R"([{"id":"x"}])"); }).find("jobs[0]."), std::string::npos);
}

TEST(embedded_jobs, may_use_the_scheduler_from_inside_a_function) {
  scheduler s;
  s.start();
  s.add_job("outer", at_once(), [&] {
    s.add_job("inner", far(), [] { return 1; });
    s.pause("outer", "once");
    return s.list().size();
  });
  EXPECT_EQ(ended_run(s, "outer").value, "2");
  EXPECT_TRUE(s.get("outer")->paused);
}

} // namespace
} // namespace lycosa
