#include "core/jobs/job_json.hpp"
#include "storage/job_store.hpp"
#include "tests/storage/fixture.hpp"

namespace lycosa::storage {
namespace {

class job_records : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam()) {
      auto opened = open_data_dir(test::options_for(dir_.path()));
      ASSERT_TRUE(opened.has_value()) << opened.error().text();
      data_ = std::move(*opened);
    } else {
      data_ = open_memory(1);
    }
  }
  static jobs::job job_named(const std::string& id) {
    return jobs::parse_job(
               R"({"id":")" + id
                   + R"(","trigger":{"type":"interval","seconds":9},"action":{"type":"function","name":"f"}})",
               wall_time{})
        ->job;
  }
  static jobs::run_record run_of(const std::string& id, std::uint64_t n, jobs::run_state s,
                                 int ended = 0) {
    jobs::run_record r;
    r.job_id = id;
    r.number = n;
    r.state = s;
    if (jobs::is_final(s)) r.ended = wall_time{std::chrono::seconds{ended}};
    return r;
  }

  test::scratch_dir dir_;
  std::unique_ptr<data_dir> data_;
};

/// Commits these jobs and runs.
result<void> store_all(job_store& store, const std::vector<jobs::job>& added,
                       const std::vector<jobs::run_record>& runs) {
  job_batch batch;
  for (const auto& j : added)
    batch.jobs.push_back(&j);
  for (const auto& r : runs)
    batch.runs.push_back(&r);
  return store.commit(batch);
}

constexpr wall_time now{std::chrono::hours{500'000}};

TEST_P(job_records, what_is_committed_is_there_and_runs_come_newest_first) {
  job_store store(*data_->catalog);
  auto a = job_named("a");
  a.paused = true;
  a.pause_reason = "why";
  a.runs = 300;
  a.previous = now;
  a.next = trigger::fire{now + usec{1}, usec{2}};
  ASSERT_TRUE(store_all(
      store, {a, job_named("ab")},
      {run_of("a", 2, jobs::run_state::success), run_of("a", 1, jobs::run_state::success),
       run_of("a", 300, jobs::run_state::running), run_of("ab", 7, jobs::run_state::success)}));
  job_store again(*data_->catalog);
  const auto all = again.open();
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->jobs.size(), 2u);
  EXPECT_EQ(all->jobs[0].first, "a");
  EXPECT_EQ(all->jobs[0].second, jobs::place_of(a));
  ASSERT_EQ(all->open_runs.size(), 1u);
  EXPECT_EQ(all->open_runs[0].number, 300u);
  const auto whole = again.load("a");
  ASSERT_TRUE(whole.has_value()) << whole.error().text();
  EXPECT_EQ(jobs::to_json(*whole), jobs::to_json(a));
  EXPECT_EQ(jobs::place_of(*whole), jobs::place_of(a));
  auto runs = again.runs("a", 0, 1, wall_time{});
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ((*runs)[0].number, 2u);
  runs = again.runs("a", 2, 10, wall_time{});
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ((*runs)[0].number, 1u);
}

TEST_P(job_records, a_run_that_ends_is_no_longer_open) {
  job_store store(*data_->catalog);
  ASSERT_TRUE(store_all(store, {job_named("a")}, {run_of("a", 1, jobs::run_state::running)}));
  ASSERT_TRUE(store_all(store, {}, {run_of("a", 1, jobs::run_state::error, 9)}));
  EXPECT_TRUE(job_store(*data_->catalog).open()->open_runs.empty());
  EXPECT_EQ(store.runs("a", 0, 10, wall_time{})->at(0).state, jobs::run_state::error);
}

TEST_P(job_records, every_member_of_a_run_is_kept) {
  job_store store(*data_->catalog);
  ASSERT_TRUE(store_all(store, {job_named("a")}, {}));
  for (unsigned s = 0; s <= static_cast<unsigned>(jobs::run_state::dropped_queue); ++s) {
    jobs::run_record r;
    r.job_id = "a";
    r.number = s + 1;
    r.state = static_cast<jobs::run_state>(s);
    r.cause = jobs::run_cause::backfill;
    r.nominal = now + usec{123'457};
    r.planned = r.nominal + usec{1};
    r.last = r.nominal + usec{2};
    r.count = 7;
    r.at_least = true;
    r.started = now;
    r.ended = now + usec{5};
    r.retry_at = now + usec{6};
    r.attempt = 4;
    r.late = usec{-3};
    r.result.outcome = jobs::run_outcome::timeout;
    r.result.exit_code = -2;
    r.result.signal = 9;
    r.result.http_status = 503;
    r.result.output = std::string(5000, '\0') + "\xff";
    r.result.output_cut = true;
    r.result.value = "[1]";
    r.result.error = "it failed";
    r.reason = "because";
    ASSERT_TRUE(store_all(store, {}, {r}));
    const auto text = jobs::to_json(r);
    if (jobs::is_final(r.state)) {
      EXPECT_EQ(jobs::to_json(store.runs("a", 0, 1, wall_time{})->at(0)), text);
    } else {
      job_store again(*data_->catalog);
      const auto open = again.open()->open_runs;
      EXPECT_EQ(std::count_if(open.begin(), open.end(),
                              [&](const auto& o) { return jobs::to_json(o) == text; }),
                1);
    }
  }
}

TEST_P(job_records, an_erased_job_takes_its_runs_along_and_no_others) {
  job_store store(*data_->catalog);
  ASSERT_TRUE(store_all(
      store, {job_named("a"), job_named("ab")},
      {run_of("a", 1, jobs::run_state::success), run_of("a", 2, jobs::run_state::running),
       run_of("ab", 1, jobs::run_state::lost), run_of("ab", 2, jobs::run_state::running)}));
  job_batch erase;
  erase.erased = {"a"};
  ASSERT_TRUE(store.commit(erase));
  const auto left = store.open();
  EXPECT_EQ(left->jobs.size(), 1u);
  EXPECT_EQ(left->open_runs.size(), 1u);
  EXPECT_TRUE(store.runs("a", 0, 10, wall_time{})->empty());
  EXPECT_EQ(store.runs("ab", 0, 10, wall_time{})->size(), 1u);
  // Added again it is another job.
  ASSERT_TRUE(store_all(store, {job_named("a")}, {}));
  EXPECT_TRUE(store.runs("a", 0, 10, wall_time{})->empty());
}

TEST_P(job_records, erased_and_added_in_one_commit_it_is_new) {
  job_store store(*data_->catalog);
  ASSERT_TRUE(store_all(store, {job_named("a")}, {run_of("a", 1, jobs::run_state::success)}));
  const auto a = job_named("a");
  job_batch both;
  both.erased = {"a"};
  both.jobs = {&a};
  ASSERT_TRUE(store.commit(both));
  EXPECT_TRUE(store.load("a").has_value());
  EXPECT_TRUE(store.runs("a", 0, 10, wall_time{})->empty());
}

TEST_P(job_records, what_cannot_be_read_is_reported_and_left) {
  ASSERT_TRUE(
      data_->catalog->put_blobs("jobs", {{"pbad", "not a message"}, {"dworse", "nor this"}}));
  job_store store(*data_->catalog);
  const auto all = store.open();
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->unreadable, std::vector<std::string>{"bad"});
  EXPECT_EQ(store.load("worse").error().code, errc::corrupt);
  EXPECT_EQ(*data_->catalog->get_blob("jobs", "pbad"), "not a message");
}

TEST_P(job_records, jobs_of_an_earlier_format_are_refused_and_left_alone) {
  ASSERT_TRUE(data_->catalog->put_blobs("jobs", {{"ja", "{}"}}));
  job_store store(*data_->catalog);
  const auto all = store.open();
  ASSERT_FALSE(all.has_value());
  EXPECT_NE(all.error().text().find("before format 3"), std::string::npos);
  EXPECT_EQ(*data_->catalog->get_blob("jobs", "ja"), "{}");
}

std::size_t stored_records(catalog_store& catalog) {
  std::size_t n = 0;
  const auto records = catalog.scan_blobs("jobs", "r", 1'000'000);
  for (const auto& [name, value] : *records)
    n += name.starts_with('r');
  return n;
}

TEST_P(job_records, history_is_bounded_by_count_and_its_room_is_taken_back) {
  jobs::history_limits limits;
  limits.count = 5;
  limits.garbage = 10;
  limits.age = usec{0};
  job_store store(*data_->catalog, limits);
  ASSERT_TRUE(store_all(store, {job_named("a"), job_named("monthly")},
                        {run_of("monthly", 1, jobs::run_state::success)}));
  for (std::uint64_t n = 1; n <= 200; ++n) {
    ASSERT_TRUE(store_all(store, {}, {run_of("a", n, jobs::run_state::success)}));
    ASSERT_TRUE(store.sweep(now).has_value());
  }
  const auto shown = store.runs("a", 0, 100, now);
  ASSERT_EQ(shown->size(), 5u);
  EXPECT_EQ(shown->front().number, 200u);
  EXPECT_EQ(shown->back().number, 196u);
  EXPECT_EQ(store.runs("monthly", 0, 100, now)->size(), 1u);
  EXPECT_LT(stored_records(*data_->catalog), 30u);
}

TEST_P(job_records, history_is_bounded_by_age) {
  jobs::history_limits limits;
  limits.age = std::chrono::seconds{10};
  job_store store(*data_->catalog, limits);
  ASSERT_TRUE(store_all(store, {job_named("a")}, {}));
  for (int n = 1; n <= 5; ++n)
    ASSERT_TRUE(store_all(store, {}, {run_of("a", std::uint64_t(n), jobs::run_state::success, n)}));
  const wall_time later{std::chrono::seconds{14}};
  EXPECT_EQ(store.runs("a", 0, 100, later)->size(), 2u);
  ASSERT_TRUE(store.sweep(later).has_value());
  ASSERT_TRUE(store.commit({}));
  EXPECT_EQ(stored_records(*data_->catalog), 2u);
}

INSTANTIATE_TEST_SUITE_P(stores, job_records, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "lmdb" : "memory"; });

} // namespace
} // namespace lycosa::storage
