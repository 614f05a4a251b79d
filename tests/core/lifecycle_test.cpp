#include "core/lifecycle.hpp"
#include "core/placement.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lycosa {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr wall_time now{seconds{1'700'000'000}};
constexpr auto never = wall_time{};

/// One task in a store of its own, driven as shard and queue drive it.
struct story {
  std::optional<task> record;
  queue_position position;
  retry_policy retry{{}, seconds{5}};
  wall_time clock = now;
  std::uint64_t arrivals = 0;
  accept_verdict last;
  counter_delta delta;

  std::optional<task_slot> slot() const {
    if (!record) return std::nullopt;
    task_slot s;
    s.status = record->status;
    s.lastcrawltime = record->lastcrawltime;
    s.itag_hash = record->sched.itag ? hash_itag(*record->sched.itag) : 0;
    s.generation = record->generation;
    return s;
  }
  accept_outcome submit(const task& in) {
    last = judge_submit(slot(), in, clock);
    delta = {};
    if (last.outcome == accept_outcome::ignored) return last.outcome;
    const auto d = apply_submit(last.outcome, record ? &*record : nullptr, in, ++arrivals, clock);
    record = d.record;
    position = d.position;
    delta = d.delta;
    return last.outcome;
  }
  report_outcome report_of(bool ok, std::optional<std::uint32_t> generation = {}) {
    report r;
    r.fetch_ok = ok;
    r.process_ok = ok;
    r.track = ok ? R"({"process":{"ok":true}})" : R"({"process":{"ok":false}})";
    const auto d = decide_report(*record, position, r, generation.value_or(record->generation),
                                 retry, ++arrivals, clock);
    record = d.record;
    position = d.position;
    delta = d.delta;
    return d.outcome;
  }
  bool queued() const { return record && record->status == task_status::active; }
  usec wait() const { return position.due - clock; }
};

task page() {
  task t;
  t.project = "news";
  t.taskid = "t1";
  t.url = "http://example.org/";
  t.fetch = R"({"data":"abc"})";
  t.process = R"({"callback":"index"})";
  return t;
}

task page(usec age) {
  auto t = page();
  t.sched.age = age;
  return t;
}

// -- a new task ----------------------------------------------------------------------------------

TEST(lifecycle, a_new_task_is_stored_as_it_came_and_queued) {
  story s;
  auto in = page();
  in.sched.priority = 4;
  in.sched.retried = 9;
  in.sched.itag = "v1";
  in.generation = 17;
  in.status = task_status::failed;
  in.lastcrawltime = now;
  EXPECT_EQ(s.submit(in), accept_outcome::created);
  EXPECT_EQ(s.record->status, task_status::active);
  EXPECT_EQ(s.record->sched.retried, 0);
  EXPECT_EQ(s.record->sched.itag, "v1");
  EXPECT_EQ(s.record->generation, 0U);
  EXPECT_EQ(s.record->lastcrawltime, never);
  EXPECT_EQ(s.record->updatetime, now);
  EXPECT_EQ(s.record->fetch, in.fetch);
  EXPECT_EQ(s.record->process, in.process);
  EXPECT_EQ(s.position.priority, 4);
  EXPECT_EQ(s.position.due, now);
  EXPECT_EQ(s.position.arrival, 1U);
  EXPECT_EQ(s.delta.pending, 1);
}

TEST(lifecycle, commands_are_carried_out_and_not_kept) {
  story s;
  auto in = page();
  in.sched.force_update = true;
  s.submit(in);
  EXPECT_FALSE(s.record->sched.force_update);
  in.sched.cancel = true;
  s.submit(in);
  EXPECT_FALSE(s.record->sched.cancel);
}

TEST(lifecycle, a_task_for_later_is_queued_for_then) {
  story s;
  auto in = page();
  in.sched.exetime = now + seconds{30};
  s.submit(in);
  EXPECT_EQ(s.wait(), seconds{30});
  EXPECT_EQ(s.record->sched.exetime, now + seconds{30});
}

TEST(lifecycle, a_task_for_the_past_is_due_now) {
  story s;
  auto in = page();
  in.sched.exetime = now - hours{1};
  s.submit(in);
  EXPECT_EQ(s.position.due, now);
}

// -- a known task --------------------------------------------------------------------------------

struct submit_case {
  const char* what;
  std::optional<task_status> old;
  const char* old_itag; ///< nullptr = none
  seconds crawled_ago;
  const char* itag;
  seconds age;
  bool force;
  bool cancel;
  accept_outcome outcome;
  const char* reason;
};

TEST(lifecycle, submits_are_judged_by_state_itag_age_and_command) {
  using enum accept_outcome;
  const auto active = task_status::active;
  const auto success = task_status::success;
  const auto failed = task_status::failed;
  const auto bad = task_status::bad;
  const auto none = std::nullopt;
  const seconds no{-1};
  const std::vector<submit_case> cases{
      {"unknown", none, {}, {}, {}, no, false, false, created, ""},
      {"unknown, forced", none, {}, {}, {}, no, true, false, created, ""},
      {"unknown, cancel", none, {}, {}, {}, no, false, true, ignored, "unknown task"},
      {"unknown, cancel forced", none, {}, {}, {}, no, true, true, ignored, "unknown task"},
      {"queued", active, {}, {}, {}, no, false, false, ignored, "already queued"},
      {"queued, new itag", active, "a", {}, "b", no, false, false, ignored, "already queued"},
      {"queued, old",
       active,
       {},
       seconds{90},
       {},
       seconds{0},
       false,
       false,
       ignored,
       "already queued"},
      {"queued, forced", active, {}, {}, {}, no, true, false, restarted, ""},
      {"queued, cancel", active, {}, {}, {}, no, false, true, cancelled, ""},
      {"queued, cancel forced", active, {}, {}, {}, no, true, true, cancelled, ""},
      {"settled, nothing said", success, {}, {}, {}, no, false, false, ignored, "fresh"},
      {"failed, nothing said", failed, {}, {}, {}, no, false, false, ignored, "fresh"},
      {"settled, forced", success, {}, {}, {}, no, true, false, restarted, ""},
      {"failed, forced", failed, {}, {}, {}, no, true, false, restarted, ""},
      {"cancelled, forced", bad, {}, {}, {}, no, true, false, restarted, ""},
      {"same itag", success, "a", {}, "a", no, false, false, ignored, "same itag"},
      {"new itag", success, "a", {}, "b", no, false, false, restarted, ""},
      {"first itag", success, {}, {}, "a", no, false, false, restarted, ""},
      {"empty itag", success, "a", {}, "", no, false, false, ignored, "fresh"},
      {"no itag", success, "a", {}, {}, no, false, false, ignored, "fresh"},
      {"same itag, old", success, "a", seconds{90}, "a", seconds{30}, false, false, restarted, ""},
      {"same itag, fresh", success, "a", seconds{9}, "a", seconds{30}, false, false, ignored,
       "fresh"},
      {"fresh", success, {}, seconds{9}, {}, seconds{30}, false, false, ignored, "fresh"},
      {"exactly age old",
       success,
       {},
       seconds{30},
       {},
       seconds{30},
       false,
       false,
       ignored,
       "fresh"},
      {"old", success, {}, seconds{31}, {}, seconds{30}, false, false, restarted, ""},
      {"age 0", success, {}, seconds{1}, {}, seconds{0}, false, false, restarted, ""},
      {"failed, old", failed, {}, seconds{31}, {}, seconds{30}, false, false, restarted, ""},
      {"settled, cancel", success, {}, {}, {}, no, false, true, ignored, "not queued"},
      {"settled, cancel, old",
       success,
       {},
       seconds{90},
       {},
       seconds{1},
       false,
       true,
       ignored,
       "not queued"},
      {"settled, cancel forced", success, {}, {}, {}, no, true, true, cancelled, ""},
  };
  for (const auto& c : cases) {
    std::optional<task_slot> old;
    if (c.old) {
      old = task_slot{};
      old->status = *c.old;
      old->lastcrawltime = now - c.crawled_ago;
      old->itag_hash = c.old_itag != nullptr ? hash_itag(c.old_itag) : 0;
    }
    auto in = page(c.age);
    if (c.itag != nullptr) in.sched.itag = c.itag;
    in.sched.force_update = c.force;
    in.sched.cancel = c.cancel;
    const auto v = judge_submit(old, in, now);
    EXPECT_EQ(v.outcome, c.outcome) << c.what;
    EXPECT_EQ(v.reason, c.reason) << c.what;
  }
}

TEST(lifecycle, ages_at_the_end_of_the_range_are_fresh_for_ever) {
  task_slot old;
  old.status = task_status::success;
  old.lastcrawltime = now;
  EXPECT_EQ(judge_submit(old, page(usec::max()), now).outcome, accept_outcome::ignored);
  EXPECT_EQ(judge_submit(old, page(usec::min()), now).outcome, accept_outcome::ignored);
  old.lastcrawltime = wall_time::max();
  EXPECT_EQ(judge_submit(old, page(usec{1}), now).outcome, accept_outcome::ignored);
}

TEST(lifecycle, a_restart_replaces_what_it_brings_and_keeps_the_rest) {
  story s;
  auto in = page();
  in.sched.itag = "a";
  in.sched.extra = R"("x":1)";
  s.submit(in);
  s.retry = {{}, seconds{0}};
  s.report_of(false);
  s.report_of(true);
  s.clock += seconds{60};

  task again;
  again.project = "news";
  again.taskid = "t1";
  again.process = R"({"callback":"detail"})";
  again.sched.force_update = true;
  again.sched.priority = 7;
  EXPECT_EQ(s.submit(again), accept_outcome::restarted);
  EXPECT_EQ(s.record->status, task_status::active);
  EXPECT_EQ(s.record->url, in.url);
  EXPECT_EQ(s.record->fetch, in.fetch);
  EXPECT_EQ(s.record->process, again.process);
  EXPECT_EQ(s.record->sched.priority, 7);
  EXPECT_FALSE(s.record->sched.itag) << "the schedule is replaced as a whole";
  EXPECT_EQ(s.record->sched.extra, "");
  EXPECT_EQ(s.record->sched.retried, 0);
  EXPECT_EQ(s.record->lastcrawltime, now);
  EXPECT_NE(s.record->track, "");
  EXPECT_EQ(s.record->generation, 1U);
  EXPECT_EQ(s.position.priority, 7);
  EXPECT_EQ(s.delta.pending, 1);
}

TEST(lifecycle, a_restart_of_a_queued_task_is_not_counted_twice_and_may_postpone) {
  story s;
  s.submit(page());
  auto in = page();
  in.sched.force_update = true;
  in.sched.exetime = now + seconds{60};
  EXPECT_EQ(s.submit(in), accept_outcome::restarted);
  EXPECT_EQ(s.delta.pending, 0);
  EXPECT_EQ(s.wait(), seconds{60});
}

TEST(lifecycle, a_cancelled_task_keeps_its_record_and_is_out_of_the_queue) {
  story s;
  s.submit(page());
  auto in = page();
  in.fetch = "{}";
  in.sched.cancel = true;
  EXPECT_EQ(s.submit(in), accept_outcome::cancelled);
  EXPECT_EQ(s.record->status, task_status::bad);
  EXPECT_EQ(s.record->fetch, page().fetch);
  EXPECT_EQ(s.record->generation, 1U);
  EXPECT_EQ(s.delta.pending, 0);
  EXPECT_EQ(s.submit(page()), accept_outcome::ignored);
}

TEST(lifecycle, cancelling_an_unknown_task_does_not_crawl_it) {
  story s;
  auto in = page();
  in.sched.cancel = true;
  in.sched.force_update = true;
  EXPECT_EQ(s.submit(in), accept_outcome::ignored);
  EXPECT_FALSE(s.record);
}

// -- reports -------------------------------------------------------------------------------------

TEST(lifecycle, a_success_settles_the_task_and_keeps_its_schedule) {
  story s;
  auto in = page();
  in.sched.itag = "a";
  s.submit(in);
  s.clock += seconds{3};
  EXPECT_EQ(s.report_of(true), report_outcome::done);
  EXPECT_EQ(s.record->status, task_status::success);
  EXPECT_EQ(s.record->lastcrawltime, now + seconds{3});
  EXPECT_EQ(s.record->updatetime, now + seconds{3});
  EXPECT_EQ(s.record->sched.itag, "a");
  EXPECT_EQ(s.record->track, R"({"process":{"ok":true}})");
  EXPECT_EQ(s.delta.success, 1);
  EXPECT_EQ(s.delta.pending, 0);
}

TEST(lifecycle, a_report_without_a_track_keeps_the_stored_one) {
  auto t = page();
  t.track = "{}";
  report r;
  r.process_ok = true;
  EXPECT_EQ(decide_report(t, {}, r, 0, {}, 1, now).record.track, "{}");
}

TEST(lifecycle, a_failed_fetch_that_was_processed_well_is_a_success) {
  report r;
  r.process_ok = true;
  EXPECT_EQ(decide_report(page(), {}, r, 0, {}, 1, now).outcome, report_outcome::done);
  r = {};
  r.fetch_ok = true;
  EXPECT_EQ(decide_report(page(), {}, r, 0, {}, 1, now).outcome, report_outcome::retried);
}

TEST(lifecycle, failures_wait_longer_each_time_until_retries_are_used_up) {
  story s;
  s.retry = {};
  auto in = page();
  in.sched.retries = 5;
  in.sched.priority = 2;
  s.submit(in);
  int n = 0;
  for (const usec delay :
       {usec{seconds{30}}, usec{hours{1}}, usec{hours{6}}, usec{hours{12}}, usec{hours{24}}}) {
    EXPECT_EQ(s.report_of(false), report_outcome::retried);
    EXPECT_EQ(s.wait(), delay);
    EXPECT_EQ(s.record->sched.exetime, s.position.due);
    EXPECT_EQ(s.record->sched.retried, ++n);
    EXPECT_EQ(s.position.priority, 2);
    EXPECT_TRUE(s.queued());
    EXPECT_EQ(s.delta.retry, 1);
    EXPECT_EQ(s.delta.failed, 0);
  }
  EXPECT_EQ(s.report_of(false), report_outcome::failed);
  EXPECT_EQ(s.record->status, task_status::failed);
  EXPECT_EQ(s.record->lastcrawltime, now);
  EXPECT_EQ(s.delta.failed, 1);
  EXPECT_EQ(s.delta.retry, 0);
}

TEST(lifecycle, one_retry_means_the_second_failure_is_final) {
  story s;
  auto in = page();
  in.sched.retries = 1;
  s.submit(in);
  EXPECT_EQ(s.report_of(false), report_outcome::retried);
  EXPECT_EQ(s.report_of(false), report_outcome::failed);
}

TEST(lifecycle, no_retries_means_the_first_failure_is_final) {
  for (const int retries : {0, -1, INT32_MIN}) {
    story s;
    auto in = page();
    in.sched.retries = retries;
    s.submit(in);
    EXPECT_EQ(s.report_of(false), report_outcome::failed);
  }
}

TEST(lifecycle, an_age_caps_the_retry_delay_and_a_negative_one_does_not) {
  for (const auto& [age, delay] : std::vector<std::pair<usec, usec>>{{seconds{2}, seconds{2}},
                                                                     {seconds{0}, seconds{0}},
                                                                     {seconds{9}, seconds{5}},
                                                                     {seconds{-1}, seconds{5}},
                                                                     {usec::min(), seconds{5}},
                                                                     {usec::max(), seconds{5}}}) {
    story s;
    s.submit(page(age));
    EXPECT_EQ(s.report_of(false), report_outcome::retried);
    EXPECT_EQ(s.wait(), delay);
  }
}

TEST(lifecycle, auto_recrawl_queues_a_success_again_after_its_age) {
  story s;
  auto in = page(seconds{60});
  in.sched.auto_recrawl = true;
  s.submit(in);
  s.report_of(false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(s.report_of(true), report_outcome::recrawl);
    EXPECT_TRUE(s.queued());
    EXPECT_EQ(s.wait(), seconds{60});
    EXPECT_EQ(s.record->sched.exetime, s.clock + seconds{60});
    EXPECT_EQ(s.record->lastcrawltime, s.clock);
    EXPECT_EQ(s.record->sched.retried, 0) << "a success forgives earlier failures";
    EXPECT_EQ(s.delta.success, 1);
    EXPECT_EQ(s.delta.pending, 0);
    s.clock += seconds{60};
  }
}

TEST(lifecycle, auto_recrawl_with_age_zero_is_due_at_once) {
  story s;
  auto in = page(seconds{0});
  in.sched.auto_recrawl = true;
  s.submit(in);
  EXPECT_EQ(s.report_of(true), report_outcome::recrawl);
  EXPECT_EQ(s.wait(), seconds{0});
}

TEST(lifecycle, auto_recrawl_never_gives_up) {
  story s;
  auto in = page(seconds{3});
  in.sched.auto_recrawl = true;
  in.sched.retries = 1;
  s.submit(in);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(s.report_of(false), report_outcome::retried);
    EXPECT_EQ(s.wait(), seconds{3});
  }
}

TEST(lifecycle, auto_recrawl_without_an_age_settles_like_any_other) {
  story s;
  auto in = page();
  in.sched.auto_recrawl = true;
  in.sched.retries = 0;
  s.submit(in);
  EXPECT_EQ(s.report_of(true), report_outcome::done);
  in.sched.force_update = true;
  s.submit(in);
  EXPECT_EQ(s.report_of(false), report_outcome::failed);
}

TEST(lifecycle, auto_recrawl_can_be_switched_off_while_a_crawl_runs) {
  story s;
  auto in = page(seconds{60});
  in.sched.auto_recrawl = true;
  s.submit(in);
  const auto crawled = s.record->generation;
  in.sched.auto_recrawl = false;
  in.sched.force_update = true;
  EXPECT_EQ(s.submit(in), accept_outcome::restarted);
  EXPECT_EQ(s.report_of(true, crawled), report_outcome::superseded);
  EXPECT_EQ(s.report_of(true), report_outcome::done);
}

TEST(lifecycle, a_report_of_the_crawl_before_a_restart_notes_its_track_and_keeps_the_task_queued) {
  story s;
  auto in = page();
  s.submit(in);
  in.sched.force_update = true;
  in.sched.priority = 3;
  in.sched.exetime = now + seconds{30};
  in.fetch = R"({"data":"new"})";
  s.submit(in);
  const auto stood = s.position;
  s.clock += seconds{1};
  EXPECT_EQ(s.report_of(true, 0), report_outcome::superseded);
  EXPECT_TRUE(s.queued());
  EXPECT_EQ(s.record->fetch, R"({"data":"new"})");
  EXPECT_EQ(s.record->track, R"({"process":{"ok":true}})");
  EXPECT_EQ(s.record->sched.priority, 3);
  EXPECT_EQ(s.record->generation, 1U);
  EXPECT_EQ(s.position.due, stood.due);
  EXPECT_EQ(s.position.priority, stood.priority);
  EXPECT_EQ(s.position.arrival, stood.arrival);
  EXPECT_EQ(s.delta.success + s.delta.failed + s.delta.retry + s.delta.pending, 0);
}

TEST(lifecycle, a_restarted_task_may_fail_as_often_as_a_new_one) {
  story s;
  auto in = page();
  in.sched.retries = 1;
  s.submit(in);
  s.report_of(false);
  s.report_of(false);
  in.sched.force_update = true;
  s.submit(in);
  EXPECT_EQ(s.report_of(false), report_outcome::retried);
}

// -- resubmits as pyspider's scheduler test tells them -------------------------------------------

TEST(lifecycle, a_crawled_task_comes_again_by_itag_by_age_zero_and_not_while_fresh) {
  story s;
  s.submit(page());
  s.report_of(true);
  s.clock += seconds{1};

  EXPECT_EQ(s.submit(page(seconds{30})), accept_outcome::ignored);
  EXPECT_FALSE(s.queued());

  auto in = page(seconds{30});
  in.sched.itag = "abc";
  EXPECT_EQ(s.submit(in), accept_outcome::restarted);
  s.report_of(true);
  s.clock += seconds{1};

  EXPECT_EQ(s.submit(page(seconds{0})), accept_outcome::restarted);
}

// -- extremes ------------------------------------------------------------------------------------

TEST(lifecycle, extreme_schedules_neither_overflow_nor_stall) {
  for (const auto exetime : {wall_time::min(), wall_time{}, wall_time::max()})
    for (const auto age : {usec::min(), usec{0}, usec::max()})
      for (const int n : {INT32_MIN, -1, 0, INT32_MAX})
        for (const bool recrawl : {false, true}) {
          story s;
          s.clock = wall_time::max() - seconds{1};
          s.retry = {{}, usec::max()};
          auto in = page(age);
          in.sched.exetime = exetime;
          in.sched.priority = n;
          in.sched.retries = n;
          in.sched.auto_recrawl = recrawl;
          s.submit(in);
          EXPECT_EQ(s.position.priority, n);
          EXPECT_GE(s.position.due, s.clock);
          if (s.report_of(false) == report_outcome::retried) {
            EXPECT_GE(s.position.due, s.clock);
          }
          s.report_of(true);
        }
}

TEST(lifecycle, a_retry_count_at_the_end_of_its_range_stays_there) {
  auto t = page(seconds{1});
  t.sched.auto_recrawl = true;
  t.sched.retried = INT32_MAX;
  const auto d = decide_report(t, {}, {}, 0, {}, 1, now);
  EXPECT_EQ(d.outcome, report_outcome::retried);
  EXPECT_EQ(d.record.sched.retried, INT32_MAX);
}

TEST(retry_policy, looks_a_delay_up_and_falls_back) {
  const retry_policy r{{{0, seconds{1}}, {2, seconds{3}}, {4, seconds{-9}}}, seconds{8}};
  EXPECT_EQ(r.delay(0), seconds{1});
  EXPECT_EQ(r.delay(1), seconds{8});
  EXPECT_EQ(r.delay(2), seconds{3});
  EXPECT_EQ(r.delay(4), seconds{0});
  EXPECT_EQ(r.delay(-5), seconds{8});
}

// -- import --------------------------------------------------------------------------------------

TEST(lifecycle, a_record_is_taken_over_whole_when_it_is_unknown_or_newer) {
  task in;
  in.taskid = "t";
  in.url = "u";
  in.status = task_status::success;
  in.updatetime = wall_time{std::chrono::seconds{100}};
  in.lastcrawltime = wall_time{std::chrono::seconds{90}};
  in.track = "{}";
  in.sched.retried = 2;
  in.sched.force_update = true;
  const wall_time at{std::chrono::seconds{1000}};
  EXPECT_EQ(judge_import(nullptr, in).outcome, accept_outcome::created);
  const auto fresh = apply_import(nullptr, in, 5, at);
  EXPECT_EQ(fresh.record.status, task_status::success);
  EXPECT_EQ(fresh.record.lastcrawltime, in.lastcrawltime);
  EXPECT_EQ(fresh.record.sched.retried, 2);
  EXPECT_FALSE(fresh.record.sched.force_update) << "a command is not kept";
  EXPECT_EQ(fresh.delta.pending + fresh.delta.success, 0) << "it did not happen here";

  auto stored = in;
  stored.generation = 7;
  EXPECT_EQ(judge_import(&stored, in).outcome, accept_outcome::ignored);
  EXPECT_EQ(judge_import(&stored, in).reason, "not newer");
  in.updatetime += std::chrono::seconds{1};
  EXPECT_EQ(judge_import(&stored, in).outcome, accept_outcome::restarted);
  EXPECT_EQ(apply_import(&stored, in, 5, at).record.generation, 8U) << "a lease of before is stale";
}

TEST(lifecycle, an_imported_active_task_is_queued_for_its_time) {
  task in;
  in.sched.exetime = wall_time{std::chrono::seconds{2000}};
  in.sched.priority = 3;
  const wall_time at{std::chrono::seconds{1000}};
  EXPECT_EQ(apply_import(nullptr, in, 5, at).position.due, in.sched.exetime);
  in.sched.exetime = wall_time{};
  const auto d = apply_import(nullptr, in, 5, at);
  EXPECT_EQ(d.position.due, at);
  EXPECT_EQ(d.position.priority, 3);
  EXPECT_EQ(d.record.updatetime, at);
}

} // namespace
} // namespace lycosa
