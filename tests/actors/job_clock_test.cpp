#include "actors/job_keeper.hpp"
#include "core/jobs/job_json.hpp"
#include "storage/open.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace lycosa::actors {
namespace {

using namespace std::chrono_literals;

/// Ends each run with success as it starts.
class quick_executor final : public jobs::executor {
public:
  void start(jobs::run_request, done_handler done) override {
    ++started;
    jobs::run_result r;
    r.outcome = jobs::run_outcome::success;
    done(std::move(r));
  }
  void cancel(jobs::run_key) override {}
  void stop(usec) override {}

  int started = 0;
};

/// A catalog whose disk can be full.
class refusing_catalog final : public storage::catalog_store {
public:
  explicit refusing_catalog(storage::catalog_store& behind) : behind_(behind) {}
  bool full = false;

  result<std::vector<project_record>> projects() override { return behind_.projects(); }
  result<std::vector<project_record>> put_projects(std::vector<project_record> batch) override {
    return behind_.put_projects(std::move(batch));
  }
  result<void> erase_project(project_id id) override { return behind_.erase_project(id); }
  result<void> put_blobs(std::string_view space,
                         const std::vector<std::pair<std::string, std::string>>& batch) override {
    if (full) return fail(errc::no_space, "catalog", "the disk is full");
    return behind_.put_blobs(space, batch);
  }
  result<std::string> get_blob(std::string_view space, std::string_view name) override {
    return behind_.get_blob(space, name);
  }
  result<std::vector<std::pair<std::string, std::string>>>
  scan_blobs(std::string_view space, std::string_view after, std::size_t limit) override {
    return behind_.scan_blobs(space, after, limit);
  }

private:
  storage::catalog_store& behind_;
};

/// The JOBS actor in virtual time: what is not told to it is not noticed before its next wake.
class told_keeper : public ::testing::Test {
protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    config_.add_message_types<caf::id_block::lycosa>();
    config_.set("scheduler.policy", caf::atom("testing"));
    config_.set("logger.verbosity", caf::atom("quiet"));
    system_ = std::make_unique<caf::actor_system>(config_);
    scheduler_ = dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler());
    ASSERT_NE(scheduler_, nullptr);
    job_keeper_config k;
    k.store = &catalog_;
    k.time = time_;
    k.settings.executors.function = executor_;
    k.settings.stop_wait = usec{0};
    k.events = std::make_shared<job_events>();
    k.reload_zones = [this] {
      ++zones_read_;
      return zones_differ_;
    };
    keeper_ = system_->spawn(job_scheduler, std::move(k));
    scheduler_->run();
  }
  void TearDown() override {
    step([](job_keeper& k) { k.drain(usec{0}); });
    keeper_ = nullptr;
    system_.reset();
  }

  void step(std::function<void(job_keeper&)> what) {
    auto c = std::make_shared<job_call>();
    c->run = std::move(what);
    caf::anon_send(keeper_, std::move(c));
    scheduler_->run();
  }
  void tell(time_change what) {
    step([what](job_keeper& k) { k.time_changed(what); });
  }
  void advance(usec by) {
    time_->advance(by);
    scheduler_->advance_time(by);
    scheduler_->run();
  }
  void add(const std::string& id, const std::string& trigger) {
    step([&](job_keeper& k) {
      auto in = jobs::parse_job(R"({"id":")" + id + R"(","trigger":)" + trigger
                                    + R"(,"misfire_grace_time":null,)"
                                      R"("action":{"type":"function","name":"f"}})",
                                k.now());
      ASSERT_TRUE(in.has_value()) << in.error().text();
      ASSERT_TRUE(k.engine().add(std::move(in->job), false, k.now()).has_value());
    });
  }
  void add_at(const std::string& id, usec after) {
    const auto at = start + after;
    add(id, R"({"type":"date","run_date":"@)"
                + std::to_string(at.time_since_epoch().count() / 1'000'000) + "\"}");
  }
  std::optional<wall_time> next_of(const std::string& id) {
    std::optional<wall_time> at;
    step([&](job_keeper& k) { at = k.engine().find(id)->next_run_time(); });
    return at;
  }

  static constexpr wall_time start{std::chrono::seconds{1'700'000'000}};
  std::shared_ptr<manual_clock> time_ = std::make_shared<manual_clock>(start);
  std::shared_ptr<quick_executor> executor_ = std::make_shared<quick_executor>();
  std::unique_ptr<storage::data_dir> data_ = storage::open_memory(1);
  refusing_catalog catalog_{*data_->catalog};
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  jobs_actor keeper_;
  int zones_read_ = 0;
  bool zones_differ_ = false;
};

TEST_F(told_keeper, starts_at_once_what_a_clock_set_forward_made_due) {
  add_at("a", 1h);
  time_->set_wall(start + 2h);
  EXPECT_EQ(executor_->started, 0);
  tell(time_change::clock);
  EXPECT_EQ(executor_->started, 1);
}

TEST_F(told_keeper, plans_again_at_once_when_a_wrong_clock_is_set_right) {
  add("a", R"({"type":"interval","hours":1,"start_date":"2000-01-01T00:00:00Z"})");
  time_->set_wall(start + 240h);
  tell(time_change::clock);
  ASSERT_GT(next_of("a").value(), start + 239h);
  time_->set_wall(start);
  tell(time_change::clock);
  EXPECT_LE(next_of("a").value(), start + 1h);
}

TEST_F(told_keeper, what_a_clock_set_by_less_than_a_second_made_due_starts_at_once) {
  add_at("a", 1h);
  time_->set_wall(start + 1h - 300ms);
  tell(time_change::clock);
  time_->set_wall(start + 1h);
  tell(time_change::clock);
  EXPECT_EQ(executor_->started, 1);
}

TEST_F(told_keeper, reads_the_zones_at_once_only_when_they_changed) {
  add_at("a", 1h);
  advance(1min); // they were read when it came up
  const auto before = zones_read_;
  tell(time_change::clock);
  EXPECT_EQ(zones_read_, before);
  zones_differ_ = true;
  tell(time_change::zones);
  EXPECT_EQ(zones_read_, before + 1);
}

TEST_F(told_keeper, untold_it_notices_a_set_clock_within_a_minute) {
  add_at("a", 1h);
  time_->set_wall(start + 2h);
  advance(1min);
  EXPECT_EQ(executor_->started, 1);
}

TEST_F(told_keeper, a_far_job_starts_at_its_time_and_not_before) {
  add_at("a", 90s);
  for (int i = 0; i < 89; ++i)
    advance(1s);
  EXPECT_EQ(executor_->started, 0);
  advance(1s);
  EXPECT_EQ(executor_->started, 1);
}

TEST_F(told_keeper, wakes_that_were_superseded_leave_none_behind) {
  for (int i = 50; i > 0; --i)
    add_at("job-" + std::to_string(i), std::chrono::seconds{i});
  for (int i = 0; i < 300; ++i)
    advance(1s);
  EXPECT_EQ(executor_->started, 50);
  EXPECT_LE(scheduler_->clock().schedule().size(), 2u);
}

/// A stop must not hang on what can be stored no more.
TEST_F(told_keeper, ends_when_drained_though_nothing_can_be_stored) {
  add_at("due", 1min);
  add_at("later", 1h);
  catalog_.full = true;
  advance(1min);
  EXPECT_EQ(executor_->started, 0); // it is not on the disk that it starts
  bool ended = false;
  keeper_->attach_functor([&] { ended = true; });
  step([](job_keeper& k) { k.drain(usec{0}); });
  EXPECT_TRUE(ended);
  EXPECT_EQ(executor_->started, 0);
}

TEST_F(told_keeper, starts_what_became_due_once_it_can_be_stored_again) {
  add_at("due", 1min);
  catalog_.full = true;
  advance(1min);
  EXPECT_EQ(executor_->started, 0);
  catalog_.full = false;
  advance(1min);
  EXPECT_EQ(executor_->started, 1);
}

} // namespace
} // namespace lycosa::actors
