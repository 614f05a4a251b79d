#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

#include <map>

namespace lycosa::actors::test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Leases : public node_fixture {};

TEST_F(Leases, ALeaseThatRunsOutGoesToTheNextConsumerAndTheLateReportIsStale) {
  running("p");
  submit({make_task("p", "a")});
  const auto first = lease(1);
  advance(10min + 1s);
  const auto second = lease(1);
  ASSERT_THAT(ids(second), ElementsAre("a"));
  const auto late = settle(first.at(0));
  ASSERT_THAT(late.rejected, SizeIs(1));
  EXPECT_EQ(late.rejected[0].why, "stale lease");
  EXPECT_EQ(settle(second[0]).done, 1u);
}

TEST_F(Leases, ALateReportCountsIfNobodyElseHasTheTask) {
  running("p");
  submit({make_task("p", "a")});
  const auto first = lease(1);
  advance(10min + 1s);
  EXPECT_EQ(settle(first.at(0)).done, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
}

TEST_F(Leases, ExtendKeepsATaskPastItsTimeout) {
  running("p");
  submit({make_task("p", "a")});
  const auto t = lease(1).at(0);
  advance(9min);
  EXPECT_EQ(change_lease(t, true, 10min).changed, 1u);
  advance(9min);
  EXPECT_THAT(lease(1), IsEmpty());
  advance(2min);
  EXPECT_THAT(lease(1), SizeIs(1));
  EXPECT_THAT(change_lease(t, true, 10min).rejected, SizeIs(1));
}

TEST_F(Leases, ReleaseGivesATaskBackNowOrLater) {
  running("p");
  submit({make_task("p", "a")});
  auto t = lease(1).at(0);
  EXPECT_EQ(change_lease(t, false, 0s).changed, 1u);
  EXPECT_THAT(settle(t).rejected, SizeIs(1)) << "the lease was given back";
  t = lease(1).at(0);
  EXPECT_EQ(change_lease(t, false, 30s).changed, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
  advance(30s);
  EXPECT_THAT(lease(1), SizeIs(1));
}

TEST_F(Leases, AConsumerThatGoesAwayLosesNothing) {
  running("p");
  auto gone = ask(5, 60s);
  caf::anon_send(dispatch, cancel_atom_v, gone->id);
  run();
  EXPECT_FALSE(gone->answer) << "nobody is there to answer";
  submit({make_task("p", "a")});
  EXPECT_THAT(ids(lease(1)), ElementsAre("a"));
}

TEST_F(Leases, WaitingConsumersAreServedInTheOrderTheyCame) {
  running("p");
  auto first = ask(1, 60s);
  auto second = ask(1, 60s);
  submit({make_task("p", "a")});
  EXPECT_TRUE(first->answer);
  EXPECT_FALSE(second->answer);
  submit({make_task("p", "b")});
  EXPECT_TRUE(second->answer);
}

TEST_F(Leases, AWaitThatEndsWithoutATaskAnswersWithNone) {
  running("p");
  auto waiting = ask(1, 10s);
  advance(9s);
  EXPECT_FALSE(waiting->answer);
  advance(1s);
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(waiting->answer->tasks, IsEmpty());
}

TEST_F(Leases, AConsumerOfOneProjectGetsNothingOfAnother) {
  running("p");
  running("q");
  auto waiting = ask(5, 60s, {"q"});
  submit({make_task("p", "a")});
  EXPECT_FALSE(waiting->answer);
  submit({make_task("q", "b")});
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(waiting->answer->tasks, SizeIs(1));
  EXPECT_THAT(ids(lease(5)), ElementsAre("a"));
}

TEST_F(Leases, EveryOfFiveHundredHungryProjectsIsServedInARound) {
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i)
    names.push_back("p" + std::to_string(i));
  for (const auto& n : names) {
    running(n);
    submit({make_task(n, "a"), make_task(n, "b"), make_task(n, "c")});
  }
  std::map<std::string, int> served;
  for (int i = 0; i < 5; ++i)
    for (const auto& t : lease(100))
      served[std::string{t.record.project}] += 1;
  EXPECT_THAT(served, SizeIs(500));
}

TEST_F(Leases, TheRateLimitsWhatGoesOutAndAWaitingConsumerGetsTheNextToken) {
  running("p", 0.1, 2);
  submit({make_task("p", "a"), make_task("p", "b"), make_task("p", "c")});
  EXPECT_THAT(lease(10), SizeIs(2)) << "the burst";
  auto waiting = ask(10, 60s);
  EXPECT_EQ(view("p").gate, "rate");
  advance(9s);
  EXPECT_FALSE(waiting->answer);
  advance(1s);
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(waiting->answer->tasks, SizeIs(1));
}

TEST_F(Leases, AHigherRateTakesEffectAtOnce) {
  running("p", 0, 0);
  submit({make_task("p", "a")});
  auto waiting = ask(1, 60s);
  EXPECT_FALSE(waiting->answer);
  project_patch p;
  p.rate = 10;
  p.burst = 10;
  ASSERT_TRUE(put("p", p).has_value());
  advance(1s);
  EXPECT_TRUE(waiting->answer);
}

TEST_F(Leases, APausedProjectTakesTasksAndHandsOutNone) {
  running("p");
  project_patch pause;
  pause.status = project_status::paused;
  ASSERT_TRUE(put("p", pause).has_value());
  EXPECT_EQ(submit({make_task("p", "a")}).created, 1u);
  EXPECT_THAT(lease(1), IsEmpty());
  project_patch resume;
  resume.status = project_status::running;
  ASSERT_TRUE(put("p", resume).has_value());
  EXPECT_THAT(lease(1), SizeIs(1));
}

TEST_F(Leases, AfterARestartWhatWasLeasedIsReadyAndAnOldReportStillCounts) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b"), make_task("p", "c")});
  const auto held = lease(2);
  ASSERT_THAT(ids(held), ElementsAre("a", "b"));
  stop();
  start({});
  EXPECT_EQ(view("p").ready, 3u);
  EXPECT_EQ(settle(held[0]).done, 1u) << "not leased since";
  const auto now = lease(1);
  ASSERT_THAT(ids(now), ElementsAre("b")) << "the order survives";
  EXPECT_THAT(settle(held[1]).rejected, SizeIs(1)) << "leased to somebody else since";
  EXPECT_EQ(settle(now[0]).done, 1u);
}

TEST_F(Leases, AFailedProjectActorIsRestartedWithItsQueue) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  const auto held = lease(1);
  caf::anon_send_exit(projects->find("p")->actor, caf::exit_reason::kill);
  run();
  advance(1s);
  EXPECT_EQ(settle(held.at(0)).done, 1u);
  EXPECT_THAT(ids(lease(5)), ElementsAre("b"));
}

TEST_F(Leases, AProjectThatKeepsFailingIsGivenUpAndTheOthersGoOn) {
  running("p");
  running("q");
  for (int i = 0; i < 4; ++i) {
    const auto e = projects->find("p");
    ASSERT_TRUE(e && e->actor) << i;
    caf::anon_send_exit(e->actor, caf::exit_reason::kill);
    run();
    advance(1s);
  }
  EXPECT_FALSE(projects->find("p")->actor);
  EXPECT_FALSE(projects->find("p")->failed.empty());
  EXPECT_EQ(submit({make_task("q", "a")}).created, 1u);
}

TEST_F(Leases, ADeletedProjectIsGoneWithItsTasks) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  lease(1);
  auto op = std::make_shared<drop_project>();
  op->name = "p";
  std::optional<std::uint64_t> left;
  op->done = promise<std::uint64_t>{[&](auto r) {
    if (r) left = *r;
  }};
  caf::anon_send(parent, std::move(op));
  run();
  EXPECT_EQ(left, 2u);
  EXPECT_FALSE(projects->find("p"));
  EXPECT_THAT(lease(5), IsEmpty());
  running("p");
  EXPECT_EQ(view("p").counts.active, 0);
  EXPECT_EQ(submit({make_task("p", "a")}).created, 1u);
}

TEST_F(Leases, SmallLeasesOverAListOfProjectsServeThemAllInTurn) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i)
    names.push_back("p" + std::to_string(i));
  for (const auto& n : names) {
    running(n);
    submit({make_task(n, "a"), make_task(n, "b"), make_task(n, "c")});
  }
  std::map<std::string, int> served;
  for (int i = 0; i < 10; ++i)
    for (const auto& t : lease(5, names))
      served[std::string{t.record.project}] += 1;
  EXPECT_THAT(served, SizeIs(50));
}

TEST_F(Leases, AStoppedProjectMarkedForDeletionGoesWhenItsTimeHasCome) {
  running("p");
  submit({make_task("p", "a")});
  project_patch stop;
  stop.status = project_status::stop;
  stop.group = "lock, Delete";
  ASSERT_TRUE(put("p", stop).has_value());
  advance(23h);
  EXPECT_TRUE(projects->find("p"));
  advance(1h + 1min);
  EXPECT_FALSE(projects->find("p"));
  EXPECT_EQ(data->catalog->projects()->size(), 0u);
}

TEST_F(Leases, ANameIsFreeWhileTheOldProjectsDataIsStillBeingDeleted) {
  running("p");
  submit({make_task("p", "a")});
  auto op = std::make_shared<drop_project>();
  op->name = "p";
  caf::anon_send(parent, std::move(op));
  running("p");
  EXPECT_EQ(submit({make_task("p", "a")}).created, 1u);
  EXPECT_THAT(ids(lease(5)), ElementsAre("a"));
}

TEST_F(Leases, WhatHappenedLatelyIsListedNewestFirst) {
  running("p");
  submit({make_task("p", "a")});
  settle(lease(1).at(0));
  auto q = std::make_shared<active_query>();
  q->limit = 10;
  std::vector<active_entry> got;
  q->done = promise<std::vector<active_entry>>{[&](result<std::vector<active_entry>> r) {
    if (r) got = std::move(*r);
  }};
  caf::anon_send(projects->find("p")->actor, std::move(q));
  run();
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_EQ(got[0].status, task_status::success);
  EXPECT_EQ(got[1].status, task_status::active);
  EXPECT_EQ(got[0].url, "http://example.com/");
}

} // namespace lycosa::actors::test
