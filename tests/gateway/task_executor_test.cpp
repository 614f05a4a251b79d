#include "gateway/task_executor.hpp"
#include "tests/gateway/fake_node.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

namespace lycosa::gateway {
namespace {

using testing::HasSubstr;

/// Runs that begin together, and how each of them ended.
class task_runs : public testing::Test {
protected:
  task_runs() { executor_->attach(node_); }

  void add(const std::string& id, const std::string& task) {
    jobs::run_request r;
    r.key = jobs::run_key{runs_.size() + 1};
    r.job_id = id;
    r.action = jobs::task_action{task};
    runs_.push_back({std::move(r), [this, id](jobs::run_result got) {
                       EXPECT_FALSE(ends_.contains(id)) << id << " has ended twice";
                       ends_[id] = std::move(got);
                     }});
  }
  void add(const std::string& id, const std::string& project, const std::string& taskid) {
    add(id, R"({"project":")" + project + R"(","taskid":")" + taskid + R"(","url":"u"})");
  }
  void start() { executor_->start_all(std::move(runs_)); }

  fake_node node_;
  std::shared_ptr<task_executor> executor_ = task_executor::make();
  std::vector<jobs::run_start> runs_;
  std::map<std::string, jobs::run_result> ends_;
};

TEST_F(task_runs, that_begin_together_are_one_submission_a_project) {
  for (int i = 0; i < 100; ++i)
    add("j" + std::to_string(i), i % 2 == 0 ? "even" : "odd", std::to_string(i));
  start();
  EXPECT_EQ(node_.submissions, 2u);
  EXPECT_EQ(node_.tasks.size(), 100u);
  ASSERT_EQ(ends_.size(), 100u);
  for (const auto& [id, r] : ends_)
    EXPECT_EQ(r.outcome, jobs::run_outcome::success) << id << ": " << r.error;
}

TEST_F(task_runs, are_each_told_what_became_of_their_own_task) {
  node_.judge = [](const actors::submit_item& i, actors::submit_answer& a) {
    if (i.record.taskid == "known")
      a.ignored_items.emplace_back(i.index, "already queued");
    else if (i.record.taskid == "long")
      a.rejected.push_back({i.index, "long", "taskid: too long"});
  };
  add("a", "p", "new");
  add("b", "p", "known");
  add("c", "p", "long");
  add("d", "not JSON");
  add("e", R"({"project":"p","url":5})");
  add("f", "p", "new too");
  start();
  ASSERT_EQ(ends_.size(), 6u);
  for (const auto* good : {"a", "b", "f"})
    EXPECT_EQ(ends_[good].outcome, jobs::run_outcome::success) << good;
  EXPECT_EQ(ends_["a"].output, "");
  EXPECT_EQ(ends_["b"].output, "not crawled again: already queued");
  EXPECT_EQ(ends_["c"].error, "taskid: too long");
  EXPECT_NE(ends_["d"].error, "");
  EXPECT_THAT(ends_["e"].error, HasSubstr("url"));
  EXPECT_EQ(ends_["f"].output, "");
}

TEST_F(task_runs, all_fail_when_the_whole_submission_does) {
  node_.failure = error{errc::unavailable, "p", "being restarted"};
  add("a", "p", "1");
  add("b", "p", "2");
  start();
  for (const auto* id : {"a", "b"})
    EXPECT_THAT(ends_[id].error, HasSubstr("being restarted")) << id;
}

TEST_F(task_runs, of_tasks_that_were_taken_succeed_though_others_could_not_be_written) {
  node_.failure = error{errc::no_space, "shard 1", "the map is full"};
  node_.judge = [](const actors::submit_item& i, actors::submit_answer& a) {
    if (i.record.taskid == "2") a.rejected.push_back({i.index, "2", "the map is full"});
  };
  add("a", "p", "1");
  add("b", "p", "2");
  start();
  EXPECT_EQ(ends_["a"].outcome, jobs::run_outcome::success);
  EXPECT_EQ(ends_["b"].error, "the map is full");
}

} // namespace
} // namespace lycosa::gateway
