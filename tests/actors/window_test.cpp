#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace lycosa::actors::test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A project of which memory holds a window, beside one that is all in memory.
class Window : public node_fixture {
protected:
  void windowed(const std::string& name, std::uint64_t window) {
    project_patch p;
    p.queue_window = window;
    ASSERT_TRUE(put(name, p).has_value());
  }
  void fill(const std::string& name, int n, int priorities = 1) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i)
      names.push_back("t" + std::to_string(i));
    std::vector<task> tasks;
    for (int i = 0; i < n; ++i) {
      tasks.push_back(make_task(name, names[static_cast<std::size_t>(i)]));
      tasks.back().sched.priority = i % priorities;
    }
    submit(tasks);
  }
  std::vector<std::string> drain_queue(const std::string& name, std::uint32_t batch = 7) {
    std::vector<std::string> out;
    for (;;) {
      const auto got = lease(batch, {name});
      if (got.empty()) return out;
      for (const auto& id : ids(got))
        out.push_back(id);
    }
  }
};

TEST_F(Window, WhatIsPastItWaitsOnDiskAndComesInOrder) {
  running("whole");
  running("p");
  windowed("p", 100);
  for (const char* name : {"whole", "p"}) {
    fill(name, 3000, 4);
    advance(1s);
  }
  const auto v = view("p");
  EXPECT_LE(v.ready, 201u);
  EXPECT_GE(v.on_disk, 2700u);
  EXPECT_EQ(v.size(), 3000u);
  std::vector<std::string> is, should;
  for (int second = 0; second < 5; ++second) {
    for (auto& id : drain_queue("p"))
      is.push_back(std::move(id));
    for (auto& id : drain_queue("whole"))
      should.push_back(std::move(id));
    advance(1s); // the rate
  }
  EXPECT_THAT(should, SizeIs(3000));
  EXPECT_EQ(is, should);
  EXPECT_EQ(view("p").on_disk, 0u);
}

TEST_F(Window, AStartKnowsTheNextTasksWithoutReadingAll) {
  running("p");
  windowed("p", 100);
  fill("p", 3000, 3);
  stop();
  start({});
  const auto v = view("p");
  EXPECT_EQ(v.size(), 3000u);
  EXPECT_LT(v.ready, 1000u);
  EXPECT_EQ(lease(1, {"p"}).at(0).record.taskid, "t2") << "the first of the highest priority";
}

TEST_F(Window, AReportOfBeforeTheStartCountsForATaskThatIsOnDisk) {
  running("p");
  windowed("p", 50);
  fill("p", 1000);
  std::vector<leased_task> leased;
  while (leased.size() < 600)
    for (auto& t : lease(50, {"p"}))
      leased.push_back(t);
  stop();
  advance(1s);
  start({});
  // 50 of these or more are in memory again, the others are not.
  for (std::size_t i : {0u, 599u})
    EXPECT_EQ(settle(leased[i]).done, 1u) << leased[i].record.taskid;
  EXPECT_EQ(report("p", leased[598].record.taskid, true).done, 1u) << "names no lease";
  EXPECT_THAT(settle(leased[599]).rejected, SizeIs(1)) << "settled already";
  EXPECT_EQ(view("p").counts.success, 3);
}

TEST_F(Window, AReportForATaskOnDiskThatNobodyHasIsRefused) {
  running("p");
  windowed("p", 50);
  fill("p", 1000);
  const auto r = report("p", "t999", true);
  ASSERT_THAT(r.rejected, SizeIs(1));
  EXPECT_EQ(r.rejected[0].why, "the task is not handed out");
}

TEST_F(Window, CommandsReachTasksOnDisk) {
  running("p");
  windowed("p", 50);
  fill("p", 1000);
  auto gone = make_task("p", "t998");
  gone.sched.cancel = true;
  EXPECT_EQ(submit({gone}).cancelled, 1u);
  auto first = make_task("p", "t999");
  first.sched.force_update = true;
  first.sched.priority = 5;
  EXPECT_EQ(submit({first}).restarted, 1u);
  EXPECT_EQ(lease(1, {"p"}).at(0).record.taskid, "t999");
  const auto rest = drain_queue("p");
  EXPECT_THAT(rest, SizeIs(998));
  EXPECT_EQ(std::count(rest.begin(), rest.end(), "t998"), 0);
}

TEST_F(Window, ATaskOnDiskIsHandedOutWhenItIsDue) {
  running("p");
  windowed("p", 50);
  auto later = make_task("p", "later");
  later.sched.exetime = time->now().wall + 1h;
  later.sched.priority = 3;
  submit({later});
  fill("p", 500);
  EXPECT_THAT(drain_queue("p"), SizeIs(500));
  const auto waiting = ask(1, 2h, {"p"});
  EXPECT_FALSE(waiting->answer);
  advance(1h);
  ASSERT_TRUE(waiting->answer);
  EXPECT_THAT(ids(waiting->answer->tasks), ElementsAre("later"));
}

TEST_F(Window, AProjectGetsOneAndLosesItWhileTasksWait) {
  running("p");
  fill("p", 5000);
  EXPECT_EQ(view("p").on_disk, 0u);
  windowed("p", 100);
  EXPECT_GE(view("p").on_disk, 4700u);
  EXPECT_EQ(lease(1, {"p"}).at(0).record.taskid, "t0");
  windowed("p", 0);
  EXPECT_EQ(view("p").on_disk, 0u);
  EXPECT_EQ(view("p").ready, 4999u);
  for (auto& s : data->shards) {
    const auto e = projects->find("p");
    EXPECT_EQ(s->order_of(e->facts->id), order_state::none);
  }
  stop();
  start({});
  EXPECT_EQ(view("p").size(), 5000u);
}

TEST_F(Window, TheQueueLimitCountsWhatIsOnDisk) {
  running("p");
  project_patch p;
  p.queue_window = 10;
  p.queue_limit = 300;
  ASSERT_TRUE(put("p", p).has_value());
  fill("p", 1000);
  EXPECT_EQ(view("p").size(), 300u);
  EXPECT_EQ(view("p").refused, 700u);
}

TEST_F(Window, ADeletedProjectLeavesNothing) {
  running("p");
  windowed("p", 100);
  fill("p", 2000);
  const auto id = projects->find("p")->facts->id;
  auto op = std::make_shared<drop_project>();
  op->name = "p";
  caf::anon_send(parent, std::move(op));
  run();
  EXPECT_FALSE(projects->find("p"));
  for (auto& s : data->shards) {
    EXPECT_EQ(s->order_of(id), order_state::none);
    EXPECT_EQ(s->stats()->active, 0u);
  }
}

/// The same things happen to both projects: the same tasks come, in the same order.
class WindowHistories : public Window, public ::testing::WithParamInterface<unsigned> {};

TEST_P(WindowHistories, AreThoseOfAQueueInMemory) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  running("whole", 1e6, 1e6);
  running("window", 1e6, 1e6);
  windowed("window", 20 + random() % 50);
  int made = 0, restarts = 0;
  std::vector<std::string> names;
  names.reserve(10'000);
  std::vector<std::pair<leased_task, leased_task>> held;
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    const int what = below(100);
    if (what < (step / 50 % 2 == 0 ? 50 : 10)) {
      const int n = below(60);
      const bool again = made > 0 && below(5) == 0;
      std::vector<task> tasks;
      for (int i = 0; i < n; ++i) {
        if (!again) ++made;
        names.push_back("t" + std::to_string(again ? below(static_cast<unsigned>(made)) : made));
        task t;
        t.url = "http://example.com/";
        t.taskid = names.back();
        t.sched.priority = below(4) - 1;
        if (below(3) == 0) t.sched.exetime = time->now().wall + usec{below(20'000'000)};
        if (again) (below(3) == 0 ? t.sched.cancel : t.sched.force_update) = true;
        tasks.push_back(t);
      }
      for (const char* project : {"whole", "window"}) {
        for (auto& t : tasks)
          t.project = project;
        if (!tasks.empty()) submit(tasks);
      }
    } else if (what < 75) {
      const auto n = static_cast<std::uint32_t>(1 + below(40));
      const auto should = lease(n, {"whole"});
      std::vector<leased_task> is;
      while (is.size() < should.size()) {
        const auto more = lease(static_cast<std::uint32_t>(should.size() - is.size()), {"window"});
        if (more.empty()) break;
        is.insert(is.end(), more.begin(), more.end());
      }
      ASSERT_EQ(ids(is), ids(should)) << "step " << step << " restarts " << restarts;
      for (std::size_t i = 0; i < is.size(); ++i)
        held.emplace_back(should[i], is[i]);
    } else if (what < 93 && !held.empty()) {
      for (int i = below(20); i >= 0 && !held.empty(); --i) {
        std::swap(held[random() % held.size()], held.back());
        const auto [a, b] = held.back();
        held.pop_back();
        const int end = below(10);
        if (end < 6) {
          const auto x = settle(a, end < 4), y = settle(b, end < 4);
          EXPECT_EQ(x.done + 2 * x.retried + 4 * x.failed, y.done + 2 * y.retried + 4 * y.failed)
              << a.record.taskid;
        } else {
          const usec delay = end < 8 ? usec{0} : usec{below(5'000'000)};
          EXPECT_EQ(change_lease(a, false, delay).changed, change_lease(b, false, delay).changed);
        }
      }
    } else if (what < 97) {
      advance(usec{below(3'000'000)});
    } else {
      stop();
      advance(1s);
      start({});
      ++restarts;
    }
    EXPECT_EQ(view("window").size(), view("whole").size());
  }
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    ASSERT_EQ(drain_queue("window", 500), drain_queue("whole", 500));
    advance(11min); // leases run out
    if (i == 2) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WindowHistories, ::testing::Range(1u, 25u));

} // namespace lycosa::actors::test
