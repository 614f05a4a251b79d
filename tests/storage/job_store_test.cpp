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

TEST_P(job_records, what_is_committed_is_loaded_and_runs_come_newest_first) {
  job_store store(*data_->catalog);
  job_batch batch;
  batch.jobs = {job_named("a"), job_named("ab")};
  for (std::uint64_t n : {1, 2, 300})
    batch.runs.push_back(
        run_of("a", n, n == 300 ? jobs::run_state::running : jobs::run_state::success));
  batch.runs.push_back(run_of("ab", 7, jobs::run_state::success));
  ASSERT_TRUE(store.commit(batch));
  const auto all = store.load();
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->jobs.size(), 2u);
  ASSERT_EQ(all->open_runs.size(), 1u);
  EXPECT_EQ(all->open_runs[0].number, 300u);
  auto runs = store.runs("a", 0, 2);
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].number, 300u);
  EXPECT_EQ((*runs)[1].number, 2u);
  runs = store.runs("a", 2, 10);
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ((*runs)[0].number, 1u);
}

TEST_P(job_records, an_erased_job_takes_its_runs_along_and_no_others) {
  job_store store(*data_->catalog);
  job_batch batch;
  batch.jobs = {job_named("a"), job_named("ab")};
  batch.runs = {run_of("a", 1, jobs::run_state::success), run_of("ab", 1, jobs::run_state::lost)};
  ASSERT_TRUE(store.commit(batch));
  job_batch erase;
  erase.erased = {"a"};
  ASSERT_TRUE(store.commit(erase));
  EXPECT_EQ(store.load()->jobs.size(), 1u);
  EXPECT_TRUE(store.runs("a", 0, 10)->empty());
  EXPECT_EQ(store.runs("ab", 0, 10)->size(), 1u);
}

TEST_P(job_records, what_cannot_be_read_is_reported_and_left) {
  ASSERT_TRUE(data_->catalog->put_blobs("jobs", {{"jbad", "{not json"}}));
  job_store store(*data_->catalog);
  const auto all = store.load();
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->unreadable, std::vector<std::string>{"bad"});
  EXPECT_EQ(*data_->catalog->get_blob("jobs", "jbad"), "{not json");
}

TEST_P(job_records, old_runs_are_found_page_by_page) {
  job_store store(*data_->catalog);
  job_batch batch;
  for (std::uint64_t n = 1; n <= 5; ++n)
    batch.runs.push_back(run_of("a", n, jobs::run_state::success, static_cast<int>(n)));
  ASSERT_TRUE(store.commit(batch));
  std::string cursor;
  std::size_t old = 0;
  do {
    const auto page = store.ended_before(wall_time{std::chrono::seconds{4}}, cursor, 2);
    ASSERT_TRUE(page.has_value());
    old += page->size();
  } while (!cursor.empty());
  EXPECT_EQ(old, 3u);
}

INSTANTIATE_TEST_SUITE_P(stores, job_records, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "lmdb" : "memory"; });

} // namespace
} // namespace lycosa::storage
