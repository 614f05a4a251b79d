#include "actors/counting.hpp"
#include "tests/actors/fixture.hpp"

namespace lycosa::actors::test {
namespace {

/// Counters, the automatic pause, and what is refused or ignored with a reason.
class counting : public node_fixture {
protected:
  std::vector<counter_view> counters(counter_set set, counter_kind kind = counter_kind::sum) {
    std::optional<std::vector<counter_view>> got;
    ask_counters(projects->all(), set, kind, [&](result<std::vector<counter_view>> r) {
      if (r) got = std::move(*r);
    });
    run();
    EXPECT_TRUE(got.has_value()) << "never nothing";
    return got.value_or(std::vector<counter_view>{});
  }

  event_values events(counter_set set) {
    const auto all = counters(set);
    return all.empty() ? event_values{} : all.front().events;
  }

  void crawl(const std::string& project, bool ok, int times) {
    for (int i = 0; i < times; ++i) {
      auto t = make_task(project, names_.emplace_back("t" + std::to_string(next_++)));
      t.sched.retries = 0;
      submit({t});
      auto got = lease(1);
      ASSERT_EQ(got.size(), 1U);
      settle(got[0], ok);
    }
  }

  void pausing(int fail_num = 10) {
    stop();
    data.reset();
    options o;
    o.pause = {fail_num, 5min, 3};
    start(o);
    running("p");
  }

  int next_ = 0;
  std::deque<std::string> names_;
};

void expect(const event_values& got, const event_values& want) {
  EXPECT_EQ(got.pending, want.pending);
  EXPECT_EQ(got.success, want.success);
  EXPECT_EQ(got.retry, want.retry);
  EXPECT_EQ(got.failed, want.failed);
}

// -- counters ------------------------------------------------------------------------------------

TEST_F(counting, what_was_committed_is_counted_in_every_window) {
  running("p");
  auto once = make_task("p", "b");
  once.sched.retries = 0;
  submit({make_task("p", "a"), once, make_task("p", "c")});
  auto got = lease(10);
  settle(got[0]);
  settle(got[1], false);
  settle(got[2], false);
  for (auto set : {counter_set::five_minutes, counter_set::hour, counter_set::day})
    expect(events(set), {3, 1, 1, 1});
  expect(events(counter_set::all), {1, 1, 0, 1});
}

TEST_F(counting, ignored_and_superseded_tasks_are_not_counted) {
  running("p");
  submit({make_task("p", "a")});
  submit({make_task("p", "a")});
  auto got = lease(1);
  auto again = make_task("p", "a");
  again.sched.force_update = true;
  submit({again}); // it was ACTIVE: not counted as new
  settle(got[0]);
  expect(events(counter_set::five_minutes), {1, 0, 0, 0});
}

TEST_F(counting, totals_are_right_after_cancels_restarts_and_recrawls) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  auto cancel = make_task("p", "a");
  cancel.sched.cancel = true;
  submit({cancel});
  expect(events(counter_set::all), {1, 0, 0, 1}); // BAD counts as failed
  auto back = make_task("p", "a");
  back.sched.force_update = true;
  submit({back});
  expect(events(counter_set::all), {2, 0, 0, 0});
  auto round = make_task("p", "b");
  round.sched.force_update = true;
  round.sched.auto_recrawl = true;
  round.sched.age = 0s;
  submit({round});
  for (int i = 0; i < 5; ++i) {
    auto got = lease(1);
    ASSERT_EQ(got.size(), 1U);
    settle(got[0]);
  }
  const auto all = events(counter_set::all);
  EXPECT_GE(all.pending, 1);
  EXPECT_EQ(all.pending + all.success + all.failed, 2);
}

TEST_F(counting, seconds_of_crawls_are_averages) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  const auto got = lease(10);
  std::vector<report_item> items;
  for (const auto& t : got) {
    report_item item;
    item.project = "p";
    item.pack.taskid = t.record.taskid;
    item.pack.fetch_ok = item.pack.process_ok = true;
    item.pack.fetch_time = items.empty() ? 1.0 : 3.0;
    item.pack.process_time = 0.5;
    item.lease = parse_lease(t.lease);
    items.push_back(item);
  }
  report(items);
  const auto times = counters(counter_set::five_minutes_time, counter_kind::avg);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].times.fetch_time, 2);
  EXPECT_EQ(times[0].times.process_time, 0.5);
}

TEST_F(counting, projects_that_counted_nothing_are_left_out_and_names_are_in_order) {
  running("b");
  running("a");
  running("c");
  submit({make_task("b", "x")});
  submit({make_task("a", "x")});
  const auto all = counters(counter_set::five_minutes);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].project, "a");
  EXPECT_EQ(all[1].project, "b");
}

TEST_F(counting, windows_and_totals_outlive_the_node) {
  running("p");
  crawl("p", true, 3);
  stop();
  start({});
  expect(events(counter_set::five_minutes), {3, 3, 0, 0});
  expect(events(counter_set::all), {0, 3, 0, 0});
}

TEST_F(counting, a_kill_costs_the_windows_what_they_counted_since_the_last_second) {
  running("p");
  crawl("p", true, 3);
  advance(1s); // stored now
  const auto kept = read_counters(*data->catalog);
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->size(), 1U);
  auto stored = kept->begin()->second;
  expect(stored.read(counter_window::hour, counter_kind::sum, time->now().wall), {3, 3, 0, 0});
}

TEST_F(counting, counters_survive_a_failure_of_their_projects_actor) {
  running("p");
  crawl("p", true, 2);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(projects->find("p")->actor),
                      caf::exit_reason::kill);
  run();
  advance(1s);
  expect(events(counter_set::five_minutes), {2, 2, 0, 0});
}

TEST_F(counting, a_deleted_projects_counters_are_gone) {
  running("p");
  crawl("p", true, 2);
  advance(2s);
  auto op = std::make_shared<drop_project>();
  op->name = "p";
  caf::anon_send(parent, std::move(op));
  run();
  advance(5s);
  const auto kept = read_counters(*data->catalog);
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(kept->empty());
}

// -- pause ---------------------------------------------------------------------------------------

TEST_F(counting, ten_failures_in_a_row_pause_a_project_for_a_while) {
  pausing();
  crawl("p", false, 9);
  EXPECT_FALSE(view("p").paused);
  crawl("p", false, 1);
  const auto v = view("p");
  EXPECT_TRUE(v.paused);
  EXPECT_NE(v.gate.find("paused"), std::string::npos);
  EXPECT_EQ(v.next_at, time->now().wall + 5min);
  submit({make_task("p", "waits")});
  EXPECT_TRUE(lease(10).empty());
  auto waiting = ask(10, 1h);
  advance(5min);
  ASSERT_TRUE(waiting->answer.has_value()) << "tried again by itself";
  EXPECT_EQ(ids(waiting->answer->tasks), std::vector<std::string>{"waits"});
  EXPECT_FALSE(view("p").paused);
}

TEST_F(counting, a_success_among_the_failures_keeps_it_running) {
  pausing();
  crawl("p", false, 9);
  crawl("p", true, 1);
  crawl("p", false, 9);
  EXPECT_FALSE(view("p").paused);
}

TEST_F(counting, handing_out_ticks_and_messages_does_not_push_failures_out) {
  pausing();
  project_patch tick;
  tick.min_tick = 1s;
  ASSERT_TRUE(put("p", tick).has_value());
  for (int i = 0; i < 10; ++i) {
    crawl("p", false, 1);
    advance(20s);
    EXPECT_EQ(lease(100).size(), 20U);
  }
  EXPECT_TRUE(view("p").paused);
  advance(1s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_cronjob"}) << "ticks go on";
}

TEST_F(counting, a_check_that_nobody_reports_in_ends_by_time) {
  pausing();
  crawl("p", false, 10);
  advance(5min); // checking
  advance(5min); // nobody reported
  crawl("p", false, 3);
  EXPECT_FALSE(view("p").paused) << "three failures pause only while checking";
}

TEST_F(counting, an_operator_ends_the_pause_by_setting_the_status) {
  pausing();
  crawl("p", false, 10);
  submit({make_task("p", "waits")});
  EXPECT_TRUE(lease(1).empty());
  project_patch go;
  go.status = project_status::running;
  ASSERT_TRUE(put("p", go).has_value());
  EXPECT_EQ(lease(1).size(), 1U);
}

TEST_F(counting, a_fail_number_of_nought_never_pauses) {
  pausing(0);
  crawl("p", false, 100);
  EXPECT_FALSE(view("p").paused);
}

// -- refused and ignored -------------------------------------------------------------------------

TEST_F(counting, tasks_over_the_queue_limit_are_refused_with_a_reason_and_counted) {
  stop();
  data.reset();
  options o;
  o.inqueue_limit = 10;
  start(o);
  running("p", 0, 0);
  std::deque<std::string> names;
  std::vector<task> tasks;
  for (int i = 0; i < 20; ++i)
    tasks.push_back(make_task("p", names.emplace_back("t" + std::to_string(i))));
  const auto got = submit(tasks);
  EXPECT_EQ(got.created, 10U);
  ASSERT_EQ(got.rejected.size(), 10U);
  EXPECT_NE(got.rejected[0].why.find("limit of 10"), std::string::npos);
  EXPECT_EQ(view("p").size(), 10U);
  EXPECT_EQ(view("p").refused, 10U);
}

TEST_F(counting, why_a_task_was_ignored_is_told) {
  running("p");
  auto fresh = make_task("p", "fresh");
  fresh.sched.age = 1h;
  submit({fresh, make_task("p", "queued")});
  settle(lease(1)[0]);
  auto unknown = make_task("p", "unknown");
  unknown.sched.cancel = true;
  const auto got = submit({fresh, make_task("p", "queued"), unknown});
  EXPECT_EQ(got.ignored, 3U);
  EXPECT_EQ(got.ignored_reasons.size(), 3U);
  EXPECT_EQ(got.ignored_reasons.at("already queued"), 1U);
  EXPECT_EQ(got.ignored_reasons.at("unknown task"), 1U);
}

// -- budget --------------------------------------------------------------------------------------

TEST_F(counting, a_long_list_does_not_keep_a_consumer_waiting) {
  stop();
  options o;
  o.loop_limit = 100;
  start(o);
  running("p");
  submit({make_task("p", "first")});
  auto part = std::make_shared<submit_part>();
  std::optional<submit_answer> answered;
  part->promise = part_promise<submit_answer>{
      std::make_shared<gather<submit_answer>>(1, [&](result<submit_answer> r) {
        if (r) answered = std::move(*r);
      })};
  std::deque<std::string> names;
  for (std::uint32_t i = 0; i < 5000; ++i)
    part->items.push_back({make_task("p", names.emplace_back("n" + std::to_string(i % 1000))), i});
  caf::anon_send(projects->find("p")->actor, std::move(part));
  auto t = std::make_shared<ticket>();
  t->id = ++tickets;
  t->request.max = 1;
  std::optional<lease_answer> got;
  std::optional<bool> before;
  t->done = promise<lease_answer>{[&](result<lease_answer> r) {
    before = !answered.has_value();
    if (r) got = std::move(*r);
  }};
  caf::anon_send(dispatch, std::move(t));
  // The scheduler of the tests lets one actor run until it has nothing to do, which would hide what
  // is tested here: this way round everybody gets a turn between two of the project's.
  while (scheduler->has_job())
    scheduler->run_once_lifo();
  run();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(ids(got->tasks), std::vector<std::string>{"first"});
  EXPECT_EQ(before, true) << "the consumer was served in the middle of the list";
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->created, 1000U);
  EXPECT_EQ(answered->ignored, 4000U);
}

} // namespace
} // namespace lycosa::actors::test
