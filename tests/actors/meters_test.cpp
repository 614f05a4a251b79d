#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace lycosa::actors::test {

using ::testing::ElementsAre;

/// What those who watch the node see of what was done.
class Meters : public node_fixture {
protected:
  const project_meter& of(const std::string& name) const {
    const project_meter* found = nullptr;
    projects->each_meter([&](project_id, std::string_view known, const project_meter& m) {
      if (known == name) found = &m;
    });
    if (found == nullptr) throw std::runtime_error("no meter of " + name);
    return *found;
  }
  const node_meters& all() const { return *environment.meters; }
  std::uint64_t handed_out() const {
    const auto late = all().lateness.look();
    return std::accumulate(late.buckets.begin(), late.buckets.end(), std::uint64_t{0});
  }
};

TEST_F(Meters, CountWhatHappensToTasks) {
  running("p");
  running("q");
  submit({make_task("p", "a"), make_task("p", "b")});
  submit({make_task("q", "c")});
  const auto got = lease(3);
  ASSERT_EQ(got.size(), 3u);
  for (const auto& t : got)
    settle(t, t.record.taskid != "b");
  EXPECT_THAT(of("p").counts.look(), ElementsAre(2, 1, 1, 0, 0));
  EXPECT_THAT(of("q").counts.look(), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(all().counts.look(), ElementsAre(3, 2, 1, 0, 0));
}

TEST_F(Meters, CountTasksThatFindTheQueueFull) {
  stop();
  options o;
  o.inqueue_limit = 1;
  start(o);
  running("p");
  submit({make_task("p", "a"), make_task("p", "b"), make_task("p", "c")});
  EXPECT_THAT(of("p").counts.look(), ElementsAre(1, 0, 0, 0, 2));
  EXPECT_THAT(all().counts.look(), ElementsAre(1, 0, 0, 0, 2));
}

TEST_F(Meters, TellWhereTasksStand) {
  running("p");
  auto later = make_task("p", "later");
  later.sched.exetime = time->now().wall + 1h;
  submit({make_task("p", "a"), make_task("p", "b"), later});
  const auto& m = of("p");
  EXPECT_EQ(m.ready, 2u);
  EXPECT_EQ(m.delayed, 1u);
  EXPECT_EQ(m.processing, 0u);
  EXPECT_EQ(m.oldest_lease, 0u);
  const auto t = lease(1).at(0);
  EXPECT_EQ(m.ready, 1u);
  EXPECT_EQ(m.processing, 1u);
  settle(t);
  EXPECT_EQ(m.processing, 0u);
  EXPECT_FALSE(m.paused);
  project_patch paused;
  paused.status = project_status::paused;
  ASSERT_TRUE(put("p", paused).has_value());
  EXPECT_TRUE(m.paused);
}

TEST_F(Meters, TellSinceWhenTheOldestLeaseRuns) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  const auto& m = of("p");
  const auto first = lease(1).at(0);
  const auto begin = time->now().mono;
  EXPECT_EQ(m.oldest_lease, lease_moment(begin));
  advance(1min);
  const auto second = lease(1).at(0);
  EXPECT_EQ(m.oldest_lease, lease_moment(begin));
  advance(1min);
  change_lease(first, true, 10min);
  EXPECT_EQ(m.oldest_lease, lease_moment(begin + 1min));
  settle(second);
  EXPECT_EQ(m.oldest_lease, lease_moment(begin + 2min));
  settle(first);
  EXPECT_EQ(m.oldest_lease, 0u);
}

TEST_F(Meters, CountTasksHandedOutTogetherAsTheLatestOfThem) {
  running("p");
  submit({make_task("p", "a")});
  advance(40s);
  submit({make_task("p", "b")});
  ASSERT_EQ(lease(2).size(), 2u);
  EXPECT_EQ(handed_out(), 2u);
  EXPECT_DOUBLE_EQ(all().lateness.look().sum, 80);
  EXPECT_TRUE(lease(1).empty());
  EXPECT_EQ(handed_out(), 2u);
}

TEST_F(Meters, AClockThatIsSetBackMakesNothingEarly) {
  running("p");
  submit({make_task("p", "a")});
  time->set_wall(time->now().wall - 1h);
  lease(1);
  EXPECT_GE(all().lateness.look().sum, 0);
}

TEST_F(Meters, ARestartedProjectGoesOnCounting) {
  running("p");
  submit({make_task("p", "a")});
  settle(lease(1).at(0));
  caf::anon_send_exit(projects->find("p")->actor, caf::exit_reason::kill);
  run();
  advance(1min);
  submit({make_task("p", "b")});
  EXPECT_THAT(of("p").counts.look(), ElementsAre(2, 1, 0, 0, 0));
}

} // namespace lycosa::actors::test
