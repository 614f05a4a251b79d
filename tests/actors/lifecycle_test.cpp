#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

namespace lycosa::actors::test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Lifecycle : public node_fixture {};

TEST_F(Lifecycle, ASubmittedTaskIsLeasedOnceAndSettledByItsReport) {
  running("p");
  EXPECT_EQ(submit({make_task("p", "a")}).created, 1u);
  const auto got = lease(10);
  ASSERT_THAT(ids(got), ElementsAre("a"));
  EXPECT_EQ(got[0].record.url, "http://example.com/");
  EXPECT_THAT(lease(10), IsEmpty());
  EXPECT_EQ(settle(got[0]).done, 1u);
  EXPECT_EQ(view("p").size(), 0u);
  EXPECT_EQ(view("p").counts.success, 1);
  EXPECT_THAT(lease(10), IsEmpty());
}

TEST_F(Lifecycle, PriorityGoesFirstThenArrival) {
  running("p");
  auto low = make_task("p", "low");
  auto first = make_task("p", "first");
  auto second = make_task("p", "second");
  first.sched.priority = second.sched.priority = 5;
  submit({low, first, second});
  EXPECT_THAT(ids(lease(10)), ElementsAre("first", "second", "low"));
}

TEST_F(Lifecycle, AKnownTaskIsIgnoredWhileQueuedAndWhileFresh) {
  running("p");
  submit({make_task("p", "a")});
  EXPECT_EQ(submit({make_task("p", "a")}).ignored, 1u);
  settle(lease(1).at(0));
  EXPECT_EQ(submit({make_task("p", "a")}).ignored, 1u);
  auto again = make_task("p", "a");
  again.sched.age = 30s;
  EXPECT_EQ(submit({again}).ignored, 1u);
  advance(31s);
  EXPECT_EQ(submit({again}).restarted, 1u);
  EXPECT_THAT(ids(lease(1)), ElementsAre("a"));
}

TEST_F(Lifecycle, TheSameIdTwiceInOneListIsOneTask) {
  running("p");
  const auto a = submit({make_task("p", "a"), make_task("p", "b"), make_task("p", "a")});
  EXPECT_EQ(a.created, 2u);
  EXPECT_EQ(a.ignored, 1u);
  EXPECT_THAT(ids(lease(10)), ElementsAre("a", "b"));
}

TEST_F(Lifecycle, AFailureIsRetriedAfterItsDelayUntilRetriesAreUsedUp) {
  running("p");
  auto t = make_task("p", "a");
  t.sched.retries = 1;
  submit({t});
  EXPECT_EQ(settle(lease(1).at(0), false).retried, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
  EXPECT_EQ(view("p").delayed, 1u);
  advance(5s);
  const auto again = lease(1);
  ASSERT_THAT(ids(again), ElementsAre("a"));
  EXPECT_EQ(settle(again[0], false).failed, 1u);
  advance(24h);
  EXPECT_THAT(lease(1), IsEmpty());
  EXPECT_EQ(view("p").counts.failed, 1);
}

TEST_F(Lifecycle, ADelayedTaskWakesAWaitingConsumerAtItsMoment) {
  running("p");
  auto t = make_task("p", "a");
  t.sched.exetime = time->now().wall + 30s;
  submit({t});
  auto waiting = ask(1, 60s);
  advance(29s);
  EXPECT_FALSE(waiting->answer);
  advance(1s);
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(waiting->answer->tasks, SizeIs(1));
}

TEST_F(Lifecycle, AWallClockSetForwardMakesDelayedTasksDueWithinAMinute) {
  running("p");
  auto t = make_task("p", "a");
  t.sched.exetime = time->now().wall + 48h;
  submit({t});
  auto waiting = ask(1, 10min);
  time->set_wall(time->now().wall + 72h);
  advance(1min);
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(waiting->answer->tasks, SizeIs(1));
}

TEST_F(Lifecycle, CancelTakesATaskOutWhateverItsState) {
  running("p");
  auto delayed = make_task("p", "delayed");
  delayed.sched.exetime = time->now().wall + 1h;
  submit({delayed, make_task("p", "leased")});
  const auto held = lease(1);
  ASSERT_THAT(ids(held), ElementsAre("leased"));
  auto c1 = make_task("p", "delayed");
  auto c2 = make_task("p", "leased");
  auto c3 = make_task("p", "unknown");
  c1.sched.cancel = c2.sched.cancel = c3.sched.cancel = true;
  const auto a = submit({c1, c2, c3});
  EXPECT_EQ(a.cancelled, 2u);
  EXPECT_EQ(a.ignored, 1u);
  EXPECT_EQ(view("p").size(), 0u);
  EXPECT_EQ(view("p").counts.bad, 2);
  EXPECT_THAT(settle(held[0]).rejected, SizeIs(1));
}

TEST_F(Lifecycle, ForceUpdateOfALeasedTaskWaitsForTheCrawlAndThenCrawlsAgain) {
  running("p");
  submit({make_task("p", "a")});
  const auto first = lease(1);
  auto force = make_task("p", "a");
  force.sched.force_update = true;
  EXPECT_EQ(submit({force}).restarted, 1u);
  EXPECT_THAT(lease(1), IsEmpty()) << "one consumer at a time";
  EXPECT_EQ(settle(first.at(0)).done, 1u);
  const auto second = lease(1);
  ASSERT_THAT(ids(second), ElementsAre("a"));
  EXPECT_EQ(settle(second[0]).done, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
}

TEST_F(Lifecycle, ForceUpdateDuringALeaselessCrawlIsNotLost) {
  running("p");
  submit({make_task("p", "a")});
  lease(1);
  auto force = make_task("p", "a");
  force.sched.force_update = true;
  submit({force});
  EXPECT_EQ(report("p", "a", true).done, 1u);
  EXPECT_THAT(ids(lease(1)), ElementsAre("a"));
}

TEST_F(Lifecycle, ARestartCanPostpone) {
  running("p");
  submit({make_task("p", "a")});
  auto later = make_task("p", "a");
  later.sched.force_update = true;
  later.sched.exetime = time->now().wall + 1h;
  EXPECT_EQ(submit({later}).restarted, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
  advance(1h);
  EXPECT_THAT(ids(lease(1)), ElementsAre("a"));
}

TEST_F(Lifecycle, AutoRecrawlComesBackAfterItsAge) {
  running("p");
  auto t = make_task("p", "a");
  t.sched.auto_recrawl = true;
  t.sched.age = 10s;
  submit({t});
  for (int i = 0; i < 3; ++i) {
    const auto got = lease(1);
    ASSERT_THAT(ids(got), ElementsAre("a")) << i;
    EXPECT_EQ(settle(got[0]).done, 1u);
    EXPECT_THAT(lease(1), IsEmpty());
    advance(10s);
  }
}

TEST_F(Lifecycle, TheSameIdInTwoProjectsIsTwoTasks) {
  running("p");
  running("q");
  submit({make_task("p", "on_start")});
  submit({make_task("q", "on_start")});
  EXPECT_THAT(lease(10), SizeIs(2));
}

TEST_F(Lifecycle, AProjectThatIsNotStartedTakesNothingAndSaysWhy) {
  project_patch todo;
  ASSERT_TRUE(put("p", todo).has_value());
  const auto a = submit({make_task("p", "a")});
  ASSERT_THAT(a.rejected, SizeIs(1));
  EXPECT_THAT(a.rejected[0].why, ::testing::HasSubstr("TODO"));
}

TEST_F(Lifecycle, TheQueueLimitRefusesWhatIsOverIt) {
  project_patch p;
  p.status = project_status::running;
  p.rate = 0;
  p.burst = 0;
  p.queue_limit = 10;
  ASSERT_TRUE(put("p", p).has_value());
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i)
    names.push_back("t" + std::to_string(i));
  std::vector<task> tasks;
  for (const auto& n : names)
    tasks.push_back(make_task("p", n));
  const auto a = submit(tasks);
  EXPECT_EQ(a.created, 10u);
  EXPECT_THAT(a.rejected, SizeIs(10));
  EXPECT_EQ(view("p").size(), 10u);
}

TEST_F(Lifecycle, ReportsForTasksThatAreNotLeasedAreRejected) {
  running("p");
  submit({make_task("p", "a")});
  EXPECT_THAT(report("p", "a", true).rejected, SizeIs(1));
  EXPECT_THAT(report("p", "unknown", true).rejected, SizeIs(1));
  EXPECT_EQ(view("p").size(), 1u);
}

TEST_F(Lifecycle, TwoReportsOfOneLeaseSettleOnce) {
  running("p");
  submit({make_task("p", "a")});
  const auto t = lease(1).at(0);
  report_item item;
  item.project = "p";
  item.pack.taskid = "a";
  item.pack.process_ok = true;
  item.pack.track = "{}";
  item.lease = parse_lease(t.lease);
  const auto a = report(std::vector{item, item});
  EXPECT_EQ(a.done, 1u);
  ASSERT_THAT(a.rejected, SizeIs(1));
  EXPECT_EQ(a.rejected[0].why, "stale lease");
}

TEST_F(Lifecycle, AReportCanEndTheRepetition) {
  running("p");
  auto t = make_task("p", "a");
  t.sched.auto_recrawl = true;
  t.sched.age = 10s;
  submit({t});
  const auto got = lease(1);
  report_item item;
  item.project = "p";
  item.pack.taskid = "a";
  item.pack.process_ok = true;
  item.pack.track = "{}";
  item.pack.auto_recrawl = false;
  item.lease = parse_lease(got.at(0).lease);
  EXPECT_EQ(report(std::vector{item}).done, 1u);
  advance(1min);
  EXPECT_THAT(lease(1), IsEmpty());
  EXPECT_EQ(view("p").counts.success, 1);
}

TEST_F(Lifecycle, ARestartDuringACrawlOutweighsTheScheduleItsReportEchoes) {
  running("p");
  submit({make_task("p", "a")});
  const auto got = lease(1);
  auto repeat = make_task("p", "a");
  repeat.sched.force_update = true;
  repeat.sched.auto_recrawl = true;
  repeat.sched.age = 10s;
  submit({repeat});
  report_item item;
  item.project = "p";
  item.pack.taskid = "a";
  item.pack.process_ok = true;
  item.pack.track = "{}";
  item.pack.auto_recrawl = false;
  item.lease = parse_lease(got.at(0).lease);
  report(std::vector{item});
  settle(lease(1).at(0));
  advance(10s);
  EXPECT_THAT(ids(lease(1)), ElementsAre("a")) << "repeats as the restart said";
}

} // namespace lycosa::actors::test
