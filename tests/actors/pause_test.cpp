#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

namespace lycosa::actors::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

/// How an operator and a consumer see the automatic pause; pause of two seconds.
class pausing : public node_fixture {
protected:
  void SetUp() override {
    node_fixture::SetUp();
    stop();
    options o;
    o.pause = {10, 2s, 3};
    o.retry = retry_policy{{}, 1h};
    start(o);
    running("p");
  }

  void crawl(bool ok, int n = 1) {
    for (int i = 0; i < n; ++i) {
      names.push_back("c" + std::to_string(names.size()));
      submit({make_task("p", names.back())});
      const auto got = lease(1);
      ASSERT_THAT(got, SizeIs(1)) << "nothing is handed out";
      settle(got[0], ok);
    }
  }

  std::deque<std::string> names;
};

TEST_F(pausing, the_gate_says_how_many_failed_and_until_when) {
  crawl(false, 10);
  EXPECT_EQ(view("p").gate, "paused: 10 crawls failed in a row, until 2023-11-14T22:13:22Z");
}

TEST_F(pausing, three_failures_of_a_trial_pause_again_and_a_success_ends_it) {
  crawl(false, 10);
  advance(3s);
  EXPECT_FALSE(view("p").paused) << "it is tried";
  crawl(false, 3);
  EXPECT_TRUE(view("p").paused);
  EXPECT_THAT(view("p").gate, HasSubstr("3 crawls failed"));
  advance(3s);
  crawl(true);
  crawl(false, 3);
  EXPECT_FALSE(view("p").paused);
}

TEST_F(pausing, retries_count_and_superseded_crawls_do_not) {
  for (int i = 0; i < 12; ++i) {
    names.push_back("s" + std::to_string(i));
    submit({make_task("p", names.back())});
    const auto got = lease(1);
    auto again = make_task("p", names.back());
    again.sched.force_update = true;
    again.sched.exetime = time->now().wall + 1h;
    submit({again});
    EXPECT_EQ(settle(got.at(0), false).done, 1u) << "superseded";
  }
  EXPECT_FALSE(view("p").paused);
  crawl(false, 10);
  EXPECT_EQ(view("p").counts.failed, 0) << "all of them were retried";
  EXPECT_TRUE(view("p").paused);
}

TEST_F(pausing, a_change_of_something_else_does_not_end_it) {
  crawl(false, 10);
  project_patch other;
  other.rate = 500;
  ASSERT_TRUE(put("p", other));
  EXPECT_TRUE(view("p").paused);
  project_patch go_on;
  go_on.status = project_status::running;
  const auto answer = put("p", go_on);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->project.paused) << "the answer shows it already";
}

TEST_F(pausing, one_projects_pause_is_no_others) {
  running("q");
  crawl(false, 10);
  submit({make_task("p", "held"), make_task("p", "held too")});
  submit({make_task("q", "goes")});
  EXPECT_THAT(ids(lease(10)), ElementsAre("goes"));
}

// -- what is refused and ignored ------------------------------------------------------------------

class turning_away : public node_fixture {};

TEST_F(turning_away, the_queue_limit_counts_what_is_ready_delayed_and_handed_out) {
  stop();
  options o;
  o.inqueue_limit = 3;
  start(o);
  running("p");
  auto delayed = make_task("p", "delayed");
  delayed.sched.exetime = time->now().wall + 1h;
  submit({make_task("p", "held"), delayed, make_task("p", "ready")});
  const auto held = lease(1);
  const auto a = submit({make_task("p", "over")});
  ASSERT_THAT(a.rejected, SizeIs(1));
  EXPECT_EQ(a.rejected[0].why, "queue_limit: the project's queue holds 3 tasks, at its limit of 3");
  settle(held.at(0));
  EXPECT_EQ(submit({make_task("p", "over")}).created, 1u) << "there is room again";
}

TEST_F(turning_away, the_queue_limit_counts_lists_that_are_still_being_written) {
  stop();
  options o;
  o.inqueue_limit = 10;
  start(o);
  running("p", 0, 0);
  std::deque<std::string> names;
  std::uint64_t created = 0, refused = 0;
  for (int i = 0; i < 20; ++i) { // all sent before the first is written
    auto part = std::make_shared<submit_part>();
    part->promise = part_promise<submit_answer>{
        std::make_shared<gather<submit_answer>>(1, [&](result<submit_answer> r) {
          created += r->created;
          refused += r->rejected.size();
        })};
    part->items.push_back({make_task("p", names.emplace_back("t" + std::to_string(i))), 0});
    caf::anon_send(projects->find("p")->actor, std::move(part));
  }
  run();
  EXPECT_EQ(created, 10u);
  EXPECT_EQ(refused, 10u);
  EXPECT_EQ(view("p").size(), 10u);
  EXPECT_EQ(view("p").refused, 10u);
}

TEST_F(turning_away, each_reason_for_ignoring_a_task_is_counted) {
  running("p");
  auto tagged = make_task("p", "tagged");
  tagged.sched.itag = "1";
  submit({make_task("p", "waits"), make_task("p", "fresh"), tagged});
  for (const auto& t : lease(3))
    if (t.record.taskid != "waits") settle(t);
  auto nowhere = make_task("p", "unknown");
  auto done = make_task("p", "fresh");
  nowhere.sched.cancel = done.sched.cancel = true;
  auto young = make_task("p", "fresh");
  young.sched.age = 1h;
  const auto a =
      submit({make_task("p", "waits"), make_task("p", "waits"), young, tagged, nowhere, done});
  EXPECT_EQ(a.ignored, 6u);
  EXPECT_THAT(a.ignored_reasons,
              ElementsAre(Pair("already queued", 2), Pair("fresh", 1), Pair("not queued", 1),
                          Pair("same itag", 1), Pair("unknown task", 1)));
}

TEST_F(turning_away, a_flood_of_lists_does_not_keep_a_consumer_waiting) {
  running("p");
  submit({make_task("p", "known")});
  settle(lease(1).at(0));
  submit({make_task("p", "wanted")});
  constexpr int flood = 1000;
  int answered = 0;
  for (int i = 0; i < flood; ++i) {
    auto part = std::make_shared<submit_part>();
    part->promise = part_promise<submit_answer>{std::make_shared<gather<submit_answer>>(
        1, [&](const result<submit_answer>&) { answered += 1; })};
    part->items.push_back({make_task("p", "known"), 0});
    caf::anon_send(projects->find("p")->actor, std::move(part));
  }
  bool got = false;
  auto t = std::make_shared<ticket>();
  t->id = ++tickets;
  t->request.max = 1;
  t->done = promise<lease_answer>{
      [&](const result<lease_answer>& r) { got = r && r->tasks.size() == 1; }};
  caf::anon_send(dispatch, std::move(t));
  // One message an actor a turn, as on a machine with a core for each.
  auto& jobs = scheduler->jobs;
  int turns = 0;
  for (; !got && scheduler->try_run_once(); ++turns)
    if (jobs.size() > 1) std::rotate(jobs.begin(), jobs.begin() + 1, jobs.end());
  EXPECT_TRUE(got);
  EXPECT_LT(turns, flood / 10) << "the consumer waited for the flood to pass";
  run();
  EXPECT_EQ(answered, flood);
}

// -- the counters' blobs --------------------------------------------------------------------------

class counter_blobs : public node_fixture {
protected:
  std::size_t stored() { return data->catalog->scan_blobs("counters", "", 100)->size(); }
};

TEST_F(counter_blobs, a_new_project_of_a_deleted_ones_name_starts_from_nought) {
  running("p");
  submit({make_task("p", "a")});
  advance(1s);
  ASSERT_EQ(stored(), 1u);
  submit({make_task("p", "b")}); // another copy is due
  auto op = std::make_shared<drop_project>();
  op->name = "p";
  caf::anon_send(parent, std::move(op));
  run();
  advance(1min);
  EXPECT_EQ(stored(), 0u);
  running("p");
  EXPECT_EQ(view("p").counters.five_minutes.pending, 0);
  EXPECT_EQ(view("p").counters.all.pending, 0);
}

TEST_F(counter_blobs, a_copy_that_is_on_its_way_when_the_project_goes_is_not_written) {
  running("p");
  const auto facts = projects->find("p")->facts;
  auto copy = std::make_shared<counters_op>();
  copy->project = facts->id;
  copy->bytes = "x";
  auto gone = std::make_shared<drop_project>();
  gone->record = *facts;
  gone->finally = true;
  caf::anon_send(catalog_handle, std::move(copy));
  caf::anon_send(catalog_handle, std::move(gone), parent);
  run();
  EXPECT_EQ(stored(), 0u);
}

TEST_F(counter_blobs, a_failed_actors_counts_are_stored_by_the_next) {
  running("p");
  submit({make_task("p", "a")});
  caf::anon_send_exit(caf::actor_cast<caf::actor>(projects->find("p")->actor),
                      caf::exit_reason::kill);
  run();
  advance(1s);
  advance(1s);
  auto kept = read_counters(*data->catalog);
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(
      kept->begin()->second.read(counter_window::hour, counter_kind::sum, time->now().wall).pending,
      1);
}

TEST_F(counter_blobs, what_is_no_counters_counts_nothing_and_stops_nothing) {
  running("p");
  submit({make_task("p", "a")});
  stop();
  ASSERT_TRUE(data->catalog->put_blobs("counters", {{"1", "rubbish"}, {"x", "rubbish"}}));
  start({});
  EXPECT_EQ(view("p").counters.five_minutes.pending, 0);
  EXPECT_EQ(view("p").counters.all.pending, 1);
  EXPECT_THAT(ids(lease(1)), ElementsAre("a"));
}

} // namespace
} // namespace lycosa::actors::test
