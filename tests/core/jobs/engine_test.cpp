#include "tests/core/jobs/support.hpp"

namespace lycosa::jobs {
namespace {

using namespace test;

const wall_time start = at("2026-01-10T00:00:00Z");

struct downtime_case {
  const char* members;
  std::uint64_t run, missed, coalesced;
};

TEST(engine, five_times_missed_in_downtime_under_each_setting) {
  // Due at 10, 20, 30, 40, 50 s; the scheduler looks again at 52 s: late by 42, 32, 22, 12, 2.
  const std::vector<downtime_case> cases{
      {R"("coalesce":"all","misfire_grace_time":null)", 5, 0, 0},
      {R"("coalesce":"all","misfire_grace_time":22)", 3, 2, 0},
      {R"("coalesce":"all","misfire_grace_time":1)", 0, 5, 0},
      {R"("coalesce":"latest","misfire_grace_time":null)", 1, 0, 4},
      {R"("coalesce":"earliest","misfire_grace_time":null)", 1, 0, 4},
      {R"("coalesce":"latest","misfire_grace_time":22)", 1, 2, 2},
      {R"("coalesce":"earliest","misfire_grace_time":22)", 1, 2, 2},
      {R"("coalesce":"latest","misfire_grace_time":1)", 0, 5, 0},
  };
  for (const auto& c : cases) {
    simulation s(start - seconds{10});
    s.instant = true;
    auto j = s.add(every_ten(c.members));
    ASSERT_TRUE(j.next);
    s.now = j.next->planned() - seconds{1};
    s.sleep(seconds{43});
    EXPECT_EQ(s.count("j", run_state::success), c.run) << c.members;
    EXPECT_EQ(s.count("j", run_state::missed), c.missed) << c.members;
    EXPECT_EQ(s.count("j", run_state::coalesced), c.coalesced) << c.members;
    const bool earliest = std::string_view(c.members).find("earliest") != std::string_view::npos;
    if (c.run == 1) {
      const auto picked =
          earliest ? j.next->nominal + seconds{c.missed * 10} : j.next->nominal + seconds{40};
      EXPECT_EQ(s.started.front().nominal, picked) << c.members;
    }
    EXPECT_EQ(*s.jobs.next_wake(), j.next->nominal + seconds{50});
  }
}

TEST(engine, times_that_are_all_made_up_run_one_after_the_other) {
  simulation s(start);
  s.add(every_ten(R"("coalesce":"all","misfire_grace_time":null)"));
  s.sleep(seconds{52});
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(s.running.size(), 1u);
    s.finish();
  }
  EXPECT_TRUE(s.running.empty());
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_EQ(s.started[i].nominal - s.started[i - 1].nominal, seconds{10});
}

TEST(engine, a_run_longer_than_its_period_skip) {
  simulation s(start);
  s.add(every_ten(""));
  s.pass(seconds{45});
  EXPECT_EQ(s.started.size(), 1u);
  EXPECT_EQ(s.count("j", run_state::skipped_overlap), s.jobs.find("j")->runs - 1);
  s.finish();
  EXPECT_EQ(s.started.size(), 1u);
  s.pass(seconds{10});
  EXPECT_EQ(s.started.size(), 2u);
}

TEST(engine, a_run_longer_than_its_period_buffer_one) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"buffer_one")"));
  s.pass(seconds{35});
  EXPECT_EQ(s.started.size(), 1u);
  EXPECT_EQ(s.count("j", run_state::buffered), 1u);
  EXPECT_GE(s.count("j", run_state::skipped_overlap), 1u);
  s.finish();
  ASSERT_EQ(s.started.size(), 2u);
  EXPECT_EQ(s.started[1].nominal - s.started[0].nominal, seconds{10});
}

TEST(engine, a_run_longer_than_its_period_buffer_all) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"buffer_all","misfire_grace_time":1)"));
  s.pass(seconds{45});
  const auto waiting = s.count("j", run_state::buffered);
  EXPECT_GE(waiting, 3u);
  for (std::uint64_t i = 0; i <= waiting; ++i)
    s.finish();
  // They waited on purpose: the grace does not count.
  EXPECT_EQ(s.count("j", run_state::success), waiting + 1);
}

TEST(engine, a_run_longer_than_its_period_cancel_other) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"cancel_other")"));
  s.pass(seconds{25});
  ASSERT_EQ(s.started.size(), 1u);
  ASSERT_EQ(s.cancelled.size(), 1u);
  EXPECT_EQ(s.cancelled[0], s.started[0].key);
  s.finish(run_outcome::cancelled);
  ASSERT_EQ(s.started.size(), 2u);
  EXPECT_GT(s.started[1].nominal, s.started[0].nominal);
  EXPECT_EQ(s.count("j", run_state::cancelled), 1u);
}

TEST(engine, a_run_longer_than_its_period_allow) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"allow")"));
  s.pass(seconds{35});
  EXPECT_GE(s.running.size(), 3u);
  simulation two(start);
  two.add(every_ten(R"("overlap":"allow","max_instances":2)"));
  two.pass(seconds{45});
  EXPECT_EQ(two.running.size(), 2u);
  EXPECT_GE(two.count("j", run_state::skipped_overlap), 1u);
}

TEST(engine, submitted_comes_before_started_before_the_end) {
  simulation s(start);
  s.instant = true;
  s.add(every_ten(""));
  s.events.clear();
  s.pass(seconds{10});
  EXPECT_EQ(s.event_names(),
            (std::vector<std::string>{"JOB_SUBMITTED", "JOB_STARTED", "JOB_EXECUTED"}));
}

TEST(engine, failed_attempts_are_repeated_with_growing_waits) {
  simulation s(start);
  s.add(R"({"id":"j","trigger":{"type":"date","run_date":"2026-01-10T00:00:05Z"},"retries":2,
    "retry_delay":[3,7],"action":{"type":"function","name":"f"}})");
  s.pass(seconds{5});
  s.finish(run_outcome::error);
  s.pass(seconds{2});
  EXPECT_EQ(s.started.size(), 1u);
  s.pass(seconds{1});
  ASSERT_EQ(s.started.size(), 2u);
  EXPECT_EQ(s.started[1].attempt, 1u);
  s.finish(run_outcome::timeout);
  s.pass(seconds{7});
  ASSERT_EQ(s.started.size(), 3u);
  s.finish(run_outcome::error);
  EXPECT_EQ(s.count("j", run_state::error), 1u);
  EXPECT_FALSE(s.jobs.next_wake());
  EXPECT_EQ(s.runs("j").size(), 1u);
}

TEST(engine, what_ran_in_a_crash_is_lost_and_run_again_if_asked_for) {
  for (const bool again : {false, true}) {
    simulation s(start);
    s.add(every_ten(again ? R"("rerun_lost":true)" : R"("rerun_lost":false)"));
    s.pass(seconds{10});
    ASSERT_EQ(s.running.size(), 1u);
    const auto nominal = s.running[0].nominal;
    s.running.clear();
    s.started.clear();
    engine next({}, s);
    s.crash(next);
    s.settle(&next);
    EXPECT_EQ(s.count("j", run_state::lost), 1u);
    ASSERT_EQ(s.started.size(), again ? 1u : 0u);
    if (again) {
      EXPECT_EQ(s.started[0].nominal, nominal);
    }
    EXPECT_TRUE(next.find("j")->next.has_value());
  }
}

TEST(engine, what_waited_in_a_crash_waits_again) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"buffer_one")"));
  s.pass(seconds{25});
  ASSERT_EQ(s.count("j", run_state::buffered), 1u);
  s.started.clear();
  engine next({}, s);
  s.crash(next);
  s.settle(&next);
  EXPECT_EQ(s.count("j", run_state::lost), 1u);
  EXPECT_EQ(s.started.size(), 1u);
}

TEST(engine, a_closed_engine_starts_nothing_and_the_next_one_goes_on) {
  simulation s(start);
  s.add(every_ten(R"("overlap":"buffer_one")"));
  s.pass(seconds{25});
  ASSERT_EQ(s.running.size(), 1u);
  s.jobs.close();
  EXPECT_FALSE(s.jobs.next_wake());
  s.finish();
  EXPECT_TRUE(s.running.empty());
  EXPECT_EQ(s.jobs.running(), 0u);
  s.started.clear();
  engine next({}, s);
  s.crash(next);
  s.settle(&next);
  EXPECT_EQ(s.count("j", run_state::lost), 0u);
  EXPECT_EQ(s.started.size(), 1u);
}

TEST(engine, a_missed_one_shot_is_reported_and_kept_or_removed) {
  for (const bool keep : {true, false}) {
    simulation s(start);
    s.add(
        std::string(
            R"({"id":"j","trigger":{"type":"date","run_date":"2026-01-10T01:00:00Z"},"keep_finished":)")
        + (keep ? "true" : "false") + R"(,"action":{"type":"function","name":"f"}})");
    s.sleep(hours{2});
    const auto names = s.event_names();
    EXPECT_NE(std::find(names.begin(), names.end(), "JOB_MISSED"), names.end());
    EXPECT_TRUE(s.started.empty());
    ASSERT_EQ(s.jobs.find("j") != nullptr, keep);
    if (keep) {
      EXPECT_TRUE(s.jobs.find("j")->finished());
    }
    if (!keep) {
      EXPECT_EQ(names.back(), "JOB_REMOVED");
    }
  }
}

TEST(engine, ten_years_of_seconds_are_dropped_in_one_event) {
  simulation s(start);
  s.instant = true;
  s.add(
      R"({"id":"j","trigger":{"type":"interval","seconds":1},"coalesce":"all","misfire_grace_time":null,
    "action":{"type":"function","name":"f"}})");
  s.events.clear();
  s.now += hours{24} * 3652;
  s.jobs.clock_changed(s.now);
  s.settle();
  EXPECT_LE(s.started.size(), 100u);
  EXPECT_EQ(s.started.back().nominal, s.now);
  std::size_t dropped = 0;
  for (const auto& e : s.events)
    if (e.kind == event_kind::catch_up_dropped) {
      ++dropped;
      EXPECT_TRUE(e.run.at_least);
      EXPECT_GT(e.run.count, 1000u);
    }
  EXPECT_EQ(dropped, 1u);
  // And when it is set back, the job goes on at once.
  s.now = start + minutes{1};
  s.jobs.clock_changed(s.now);
  s.settle();
  s.started.clear();
  s.pass(seconds{10});
  EXPECT_GE(s.started.size(), 10u);
}

TEST(engine, a_clock_three_hours_back_runs_nothing_twice) {
  simulation s(start);
  s.instant = true;
  s.add(
      R"({"id":"j","trigger":{"type":"cron","minute":"*/10"},"timezone":"UTC","action":{"type":"function","name":"f"}})");
  s.pass(hours{5});
  const auto last = s.started.back().nominal;
  s.now -= hours{3};
  s.jobs.clock_changed(s.now);
  s.settle();
  s.started.clear();
  s.pass(hours{4});
  ASSERT_FALSE(s.started.empty());
  EXPECT_EQ(s.started.front().nominal, last + minutes{10});
}

TEST(engine, days_of_a_clock_change) {
  struct day {
    const char *from, *trigger;
    std::size_t runs;
  };
  const std::vector<day> days{
      {"2026-03-28T23:00:00Z", R"({"type":"cron","minute":"*"})", 23 * 60},
      {"2026-03-28T23:00:00Z", R"({"type":"cron","hour":"*"})", 23},
      {"2026-03-28T23:00:00Z", R"({"type":"cron","hour":"0"})", 1},
      {"2026-10-24T22:00:00Z", R"({"type":"cron","minute":"*"})", 25 * 60},
      {"2026-10-24T22:00:00Z", R"({"type":"cron","hour":"*"})", 25},
      {"2026-10-24T22:00:00Z", R"({"type":"cron","hour":"0"})", 1},
  };
  for (const auto& d : days) {
    simulation s(at(d.from));
    s.instant = true;
    s.add(
        std::string(
            R"({"id":"j","timezone":"Europe/Berlin","action":{"type":"function","name":"f"},"trigger":)")
        + d.trigger + "}");
    const auto hours_of_day = d.runs >= 23 * 60 ? d.runs / 60 : d.runs > 1 ? d.runs : 0;
    s.pass(hours_of_day ? hours{hours_of_day} - seconds{1} : hours{22});
    EXPECT_EQ(s.started.size(), d.runs) << d.from << d.trigger;
  }
}

TEST(engine, a_full_executor_makes_runs_wait_and_then_drops_them) {
  engine_limits limits;
  limits.executors["default"] = {1, 1};
  simulation s(start, limits);
  for (const char* id : {"a", "b", "c"})
    s.add(
        std::string(R"({"id":")") + id
        + R"(","trigger":{"type":"date","run_date":"2026-01-10T00:00:05Z"},"action":{"type":"function","name":"f"}})");
  s.pass(seconds{5});
  EXPECT_EQ(s.running.size(), 1u);
  EXPECT_EQ(s.count("c", run_state::dropped_queue), 1u);
  s.pass(seconds{10});
  s.finish();
  ASSERT_EQ(s.running.size(), 1u);
  EXPECT_EQ(s.running[0].job_id, "b");
  EXPECT_EQ(s.runs("b")[0].late, usec{seconds{10}});
}

TEST(engine, waiting_for_a_slot_past_the_grace_is_a_misfire) {
  engine_limits limits;
  limits.executors["default"] = {1, 10};
  simulation s(start, limits);
  for (const char* id : {"a", "b"})
    s.add(
        std::string(R"({"id":")") + id
        + R"(","misfire_grace_time":5,"trigger":{"type":"date","run_date":"2026-01-10T00:00:05Z"},"action":{"type":"function","name":"f"}})");
  s.pass(seconds{20});
  s.finish();
  EXPECT_TRUE(s.running.empty());
  EXPECT_EQ(s.count("b", run_state::missed), 1u);
}

TEST(engine, pausing_keeps_times_for_a_resume_that_catches_up) {
  for (const bool catch_up : {false, true}) {
    simulation s(start);
    s.instant = true;
    s.add(every_ten(R"("coalesce":"all","misfire_grace_time":null)"));
    ASSERT_TRUE(s.jobs.pause("j", "maintenance", s.now));
    EXPECT_FALSE(s.jobs.find("j")->next_run_time());
    EXPECT_NE(s.jobs.why("j", s.now).find("maintenance"), std::string::npos);
    s.pass(seconds{52});
    EXPECT_TRUE(s.started.empty());
    ASSERT_TRUE(s.jobs.resume("j", catch_up, s.now));
    s.settle();
    if (catch_up) {
      EXPECT_GE(s.started.size(), 5u);
    } else {
      EXPECT_TRUE(s.started.empty());
    }
    s.pass(seconds{10});
    EXPECT_FALSE(s.started.empty());
  }
}

TEST(engine, an_unchanged_trigger_keeps_the_next_run) {
  simulation s(start);
  const auto j = s.add(every_ten(""));
  s.now += seconds{25}; // overdue
  auto modified = s.jobs.modify("j", {R"({"name":"new"})"}, s.now);
  ASSERT_TRUE(modified);
  EXPECT_EQ(modified->next, j.next);
  EXPECT_EQ(s.add(every_ten(R"("max_instances":3)"), true).next, j.next);
  modified = s.jobs.modify("j", {R"({"trigger":{"type":"interval","seconds":11}})"}, s.now);
  ASSERT_TRUE(modified);
  EXPECT_NE(modified->next, j.next);
  EXPECT_FALSE(s.jobs.modify("j", {R"({"id":"k"})"}, s.now));
}

TEST(engine, an_id_is_taken_once) {
  simulation s(start);
  s.add(every_ten(""));
  auto again = parse_job(every_ten(""), s.now);
  ASSERT_TRUE(again);
  const auto refused = s.jobs.add(again->job, false, s.now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::conflict);
}

TEST(engine, removing_a_job_cancels_it_and_frees_its_slot_when_it_has_ended) {
  engine_limits limits;
  limits.executors["default"] = {1, 10};
  simulation s(start, limits);
  s.add(every_ten(""));
  s.pass(seconds{10});
  ASSERT_EQ(s.running.size(), 1u);
  ASSERT_TRUE(s.jobs.remove("j", s.now));
  s.settle();
  EXPECT_EQ(s.cancelled.size(), 1u);
  EXPECT_TRUE(s.stored_jobs.empty());
  EXPECT_TRUE(s.stored_runs.empty());
  s.add(every_ten(""));
  ASSERT_TRUE(s.jobs.run_now("j", s.now));
  s.settle();
  EXPECT_EQ(s.running.size(), 1u); // waits
  s.finish(run_outcome::cancelled);
  EXPECT_EQ(s.running.size(), 1u); // now it runs
  EXPECT_EQ(s.running[0].job_id, "j");
  EXPECT_EQ(s.jobs.running(), 1u);
}

TEST(engine, a_million_resting_jobs_are_fetched_only_when_they_are_due) {
  engine_limits limits;
  limits.cache = 10;
  simulation s(start, limits);
  s.instant = true;
  for (int i = 0; i < 1000; ++i) // each at a minute of its own
    s.add(R"({"id":"j)" + std::to_string(i) + R"(","trigger":{"type":"interval","seconds":60000,)"
          + R"("start_date":")" + trigger::to_iso(start + minutes{i}, trigger::zone{})
          + R"("},"action":{"type":"function","name":"f"}})");
  s.loads = 0;
  s.pass(minutes{99} + seconds{30});
  EXPECT_EQ(s.started.size(), 100u);
  EXPECT_LE(s.loads, 100u);
  EXPECT_EQ(s.jobs.counts().jobs, 1000u);
  EXPECT_EQ(s.jobs.list("", 2000).size(), 1000u);
}

TEST(engine, only_jobs_that_are_due_soon_are_held_whole) {
  engine_limits limits;
  limits.near = minutes{10};
  simulation s(start, limits);
  s.instant = true;
  const auto every = [](const std::string& id, int seconds) {
    return R"({"id":")" + id + R"(","trigger":{"type":"interval","seconds":)"
           + std::to_string(seconds) + R"(},"action":{"type":"function","name":"f"}})";
  };
  s.add(every("minutely", 60));
  s.add(every("daily", 86'400));
  s.loads = 0;
  s.pass(hours{1});
  EXPECT_EQ(s.loads, 0u); // the one is held, the other not asked for
  s.pass(hours{24});
  EXPECT_EQ(s.loads, 1u); // when it was due; afterwards it rested again
  s.pass(hours{24});
  EXPECT_EQ(s.loads, 2u);
  EXPECT_EQ(s.count("daily", run_state::success), 2u);
  EXPECT_EQ(s.count("minutely", run_state::success), 49u * 60u);
}

TEST(engine, tasks_do_not_wait_for_the_slots_of_commands) {
  engine_limits limits = simulation::resting();
  limits.executors["default"] = {1, 1};
  limits.executors["tasks"] = {1000, 1000};
  simulation s(start, limits);
  const auto job = [](const std::string& id, const std::string& action, const std::string& more) {
    return R"({"id":")" + id + R"(","trigger":{"type":"interval","seconds":10},"action":)" + action
           + more + "}";
  };
  const std::string task = R"({"type":"task","task":{"project":"p","url":"u"}})";
  s.add(job("busy", R"({"type":"command","argv":["sleep"]})", ""));
  for (int i = 0; i < 20; ++i)
    s.add(job("t" + std::to_string(i), task, ""));
  s.add(job("u", task, R"(,"executor":"default")"));
  s.pass(seconds{10});
  EXPECT_EQ(s.started.size(), 22u);
  EXPECT_EQ(s.jobs.queued(), 0u);
}

TEST(engine, tasks_wait_where_their_job_or_the_configuration_says_so) {
  engine_limits limits = simulation::resting();
  limits.executors["few"] = {1, 10};
  limits.executors["tasks"] = {2, 1};
  simulation s(start, limits);
  const auto add = [&](const std::string& id, const std::string& more) {
    s.add(R"({"id":")" + id + R"(","trigger":{"type":"interval","seconds":10},)"
          + R"("action":{"type":"task","task":{"project":"p","url":"u"}})" + more + "}");
  };
  add("a", R"(,"executor":"few")");
  add("b", R"(,"executor":"few")");
  for (const auto* id : {"c", "d", "e", "f"})
    add(id, "");
  s.pass(seconds{10});
  EXPECT_EQ(s.started.size(), 3u); // a, c, d
  EXPECT_EQ(s.jobs.queued(), 2u);  // b, e
  EXPECT_NE(s.jobs.why("b", s.now).find("executor few"), std::string::npos);
  EXPECT_NE(s.jobs.why("e", s.now).find("executor tasks"), std::string::npos);
  EXPECT_EQ(s.count("f", run_state::dropped_queue), 1u);
}

TEST(engine, a_job_that_cannot_be_read_is_set_aside_and_the_others_run) {
  simulation s(start);
  s.instant = true;
  s.add(every_ten(""));
  s.add(
      R"({"id":"k","trigger":{"type":"interval","seconds":10},"action":{"type":"function","name":"f"}})");
  s.stored_jobs.at("j").members = "{damaged";
  s.now += seconds{10};
  s.jobs.advance(s.now);
  ASSERT_EQ(s.jobs.pending().unreadable.size(), 1u);
  EXPECT_EQ(s.jobs.pending().unreadable[0].first, "j");
  s.settle();
  EXPECT_EQ(s.jobs.counts().jobs, 1u);
  EXPECT_EQ(s.jobs.find("j"), nullptr);
  ASSERT_EQ(s.started.size(), 1u);
  EXPECT_EQ(s.started[0].job_id, "k");
  EXPECT_EQ(s.stored_jobs.at("j").members, "{damaged");
}

TEST(engine, pauses_and_ends_are_counted) {
  simulation s(start);
  s.instant = true;
  s.add(every_ten(""));
  s.add(
      R"({"id":"once","trigger":{"type":"date","run_date":"2026-01-10T00:00:05Z"},"action":{"type":"function","name":"f"}})");
  ASSERT_TRUE(s.jobs.pause("j", "", s.now));
  s.settle();
  EXPECT_EQ(s.jobs.counts().paused, 1u);
  EXPECT_EQ(s.jobs.counts().finished, 0u);
  s.pass(minutes{1});
  EXPECT_EQ(s.jobs.counts().finished, 1u);
  ASSERT_TRUE(s.jobs.resume("j", false, s.now));
  ASSERT_TRUE(s.jobs.remove("once", s.now));
  s.settle();
  EXPECT_EQ(s.jobs.counts().paused, 0u);
  EXPECT_EQ(s.jobs.counts().finished, 0u);
  EXPECT_EQ(s.jobs.counts().jobs, 1u);
}

TEST(engine, a_backfill_runs_a_past_range_in_order) {
  simulation s(start);
  s.instant = true;
  s.add(
      R"({"id":"j","trigger":{"type":"cron","hour":"3"},"timezone":"UTC","action":{"type":"function","name":"f"}})");
  const auto n =
      s.jobs.backfill("j", at("2026-01-01T00:00:00Z"), at("2026-01-04T03:00:00Z"), s.now);
  ASSERT_TRUE(n);
  s.settle();
  EXPECT_EQ(*n, 4u);
  ASSERT_EQ(s.started.size(), 4u);
  EXPECT_EQ(s.started[0].nominal, at("2026-01-01T03:00:00Z"));
  EXPECT_EQ(s.started[3].nominal, at("2026-01-04T03:00:00Z"));
  EXPECT_FALSE(s.jobs.backfill("j", at("1900-01-01T00:00:00Z"), s.now, s.now));
}

TEST(engine, jobs_of_the_start_run_at_the_start_only) {
  simulation s(start);
  s.add(
      R"({"id":"boot","trigger":{"type":"crontab","expr":"@reboot"},"action":{"type":"function","name":"f"}})");
  s.add(every_ten(R"("run_on_start":true)"));
  EXPECT_TRUE(s.started.empty());
  s.jobs.started(s.now);
  s.settle();
  EXPECT_EQ(s.started.size(), 2u);
}

TEST(engine, a_paused_scheduler_decides_on_resume) {
  simulation s(start);
  s.instant = true;
  s.add(every_ten(""));
  s.jobs.pause_all(s.now);
  EXPECT_FALSE(s.jobs.next_wake());
  s.sleep(seconds{35});
  EXPECT_TRUE(s.started.empty());
  s.jobs.resume_all(s.now);
  s.settle();
  EXPECT_EQ(s.started.size(), 1u);
}

} // namespace
} // namespace lycosa::jobs
