#include "core/jobs/job_json.hpp"
#include "storage/job_names.hpp"
#include "storage/job_store.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/fixture.hpp"

namespace lycosa::storage {
namespace {

using blobs = std::vector<std::pair<std::string, std::string>>;

/// A directory with jobs `a`, of which two runs have ended and one has not, and `b`.
class checked_jobs : public ::testing::Test {
protected:
  void SetUp() override {
    change([](catalog_store& c) {
      job_store store(c);
      const auto a = job_named("a");
      const auto b = job_named("b");
      const auto first = run_of("a", 1, jobs::run_state::success);
      const auto second = run_of("a", 2, jobs::run_state::error);
      const auto third = run_of("a", 3, jobs::run_state::success);
      const auto open = run_of("a", 4, jobs::run_state::running);
      job_batch batch;
      batch.jobs = {&a, &b};
      batch.runs = {&first, &second, &third, &open};
      ASSERT_TRUE(store.commit(batch).has_value());
    });
  }

  template <class Change>
  void change(Change what) {
    auto opened = open_data_dir(test::options_for(dir_.path()));
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    what(*(*opened)->catalog);
  }
  /// Puts blobs as they are; empty ones are erased.
  void damage(const blobs& how) {
    change([&](catalog_store& c) { ASSERT_TRUE(c.put_blobs("jobs", how).has_value()); });
  }
  void damage_place(const std::string& id, const std::function<void(stored_place&)>& how) {
    change([&](catalog_store& c) {
      auto p = decode_place(*c.get_blob("jobs", job_names::place(id)));
      how(*p);
      ASSERT_TRUE(c.put_blobs("jobs", {{job_names::place(id), encode_place(*p)}}).has_value());
    });
  }
  void damage_run(const std::string& name, const std::function<void(stored_run&)>& how) {
    change([&](catalog_store& c) {
      auto r = decode_run(*c.get_blob("jobs", name));
      how(*r);
      ASSERT_TRUE(c.put_blobs("jobs", {{name, encode_run(*r)}}).has_value());
    });
  }
  /// Where the n-th run to end is recorded.
  std::string record(std::size_t n) {
    std::string name;
    change([&](catalog_store& c) { name = c.scan_blobs("jobs", "r", n)->at(n - 1).first; });
    return name;
  }
  /// All problems, a line each.
  std::string problems() {
    const auto report = check_data_dir(dir_.path());
    EXPECT_TRUE(report.has_value());
    EXPECT_EQ(report->ok, report->problems.empty());
    std::string all;
    for (const auto& p : report->problems)
      all += p + "\n";
    return all;
  }

  static jobs::job job_named(const std::string& id) {
    return jobs::parse_job(
               R"({"id":")" + id
                   + R"(","trigger":{"type":"interval","minutes":5},"action":{"type":"function","name":"f"}})",
               wall_time{})
        ->job;
  }
  static jobs::run_record run_of(const std::string& id, std::uint64_t n, jobs::run_state s) {
    jobs::run_record r;
    r.job_id = id;
    r.number = n;
    r.state = s;
    if (jobs::is_final(s)) r.ended = wall_time{std::chrono::seconds{n}};
    return r;
  }

  test::scratch_dir dir_;
};

#define EXPECT_TOLD(what) EXPECT_NE(problems().find(what), std::string::npos) << problems()

TEST_F(checked_jobs, a_sound_store_has_no_problems) {
  const auto report = check_data_dir(dir_.path());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->ok) << problems();
  EXPECT_EQ(report->jobs, 2u);
  EXPECT_EQ(report->job_runs, 4u);
}

TEST_F(checked_jobs, a_history_cut_off_at_its_old_end_is_sound) {
  damage({{record(1), ""}});
  EXPECT_EQ(problems(), "");
  damage({{record(2), ""}, {record(1), ""}});
  EXPECT_EQ(problems(), "");
}

TEST_F(checked_jobs, what_waits_in_the_log_is_seen_as_if_it_were_in_its_place) {
  change([](catalog_store& c) {
    job_store store(c);
    ASSERT_TRUE(store.open().has_value());
    std::vector<jobs::job> many;
    std::vector<jobs::run_record> runs;
    for (int i = 0; i < 50; ++i) {
      many.push_back(job_named("m" + std::to_string(i)));
      runs.push_back(run_of("m" + std::to_string(i), 1, jobs::run_state::running));
    }
    job_batch made;
    for (std::size_t i = 0; i < many.size(); ++i) {
      made.jobs.push_back(&many[i]);
      made.runs.push_back(&runs[i]);
    }
    ASSERT_TRUE(store.commit(made).has_value());
    job_batch ended;
    for (auto& r : runs) {
      r.state = jobs::run_state::success;
      r.ended = wall_time{std::chrono::seconds{5}};
      ended.runs.push_back(&r);
    }
    ASSERT_TRUE(store.commit(ended).has_value());
    EXPECT_FALSE(c.get_blob("jobs", job_names::open_run("m7", 1)).has_value());
    EXPECT_FALSE(c.scan_blobs("jobs", "l", 1)->empty());
  });
  const auto report = check_data_dir(dir_.path());
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->ok) << problems();
  EXPECT_EQ(report->jobs, 52u);
  EXPECT_EQ(report->job_runs, 54u);
  std::string last;
  change([&](catalog_store& c) {
    const auto all = c.scan_blobs("jobs", "l", 100);
    for (const auto& [name, value] : *all)
      if (name.starts_with("l")) last = name;
  });
  damage({{last, "cut"}});
  EXPECT_TOLD("a record of changes is cut off");
}

TEST_F(checked_jobs, the_records_of_an_erased_job_are_sound) {
  change([](catalog_store& c) {
    job_store store(c);
    ASSERT_TRUE(store.open().has_value());
    job_batch erase;
    erase.erased = {"a"};
    ASSERT_TRUE(store.commit(erase).has_value());
    const auto again = job_named("a");
    const auto run = run_of("a", 1, jobs::run_state::success);
    job_batch add;
    add.jobs = {&again};
    add.runs = {&run};
    ASSERT_TRUE(store.commit(add).has_value());
  });
  EXPECT_EQ(problems(), "");
}

TEST_F(checked_jobs, a_job_without_a_place_is_told) {
  damage({{job_names::place("b"), ""}});
  EXPECT_TOLD("job b has no place");
}

TEST_F(checked_jobs, a_place_without_a_job_is_told) {
  damage({{job_names::members("b"), ""}});
  EXPECT_TOLD("place of job b, which does not exist");
}

TEST_F(checked_jobs, a_job_that_does_not_decode_is_told) {
  damage({{job_names::members("b"), "no message"}});
  EXPECT_TOLD("job b: ");
}

TEST_F(checked_jobs, a_job_whose_members_make_no_sense_is_told) {
  damage({{job_names::members("b"),
           encode_members(R"({"id":"b","trigger":{"type":"crontab","expr":"61 * * * *"},)"
                          R"("action":{"type":"function","name":"f"}})")}});
  EXPECT_TOLD("trigger");
}

TEST_F(checked_jobs, a_record_of_another_job_is_told) {
  damage({{job_names::members("b"), encode_members(jobs::to_members_json(job_named("c")))}});
  EXPECT_TOLD("its record is of job c");
}

TEST_F(checked_jobs, a_place_that_does_not_decode_is_told) {
  damage({{job_names::place("b"), "no message"}});
  EXPECT_TOLD("job b: place of a job");
}

TEST_F(checked_jobs, an_open_run_without_its_job_is_told) {
  damage({{job_names::members("a"), ""}, {job_names::place("a"), ""}});
  EXPECT_TOLD("run 4 has not ended, but the job does not exist");
}

TEST_F(checked_jobs, an_open_run_of_an_earlier_job_is_told) {
  damage_run(job_names::open_run("a", 4), [](stored_run& r) { r.uid = 77; });
  EXPECT_TOLD("of an earlier job of this name");
}

TEST_F(checked_jobs, runs_that_do_not_decode_are_told) {
  damage({{job_names::open_run("a", 4), "no message"}});
  EXPECT_TOLD("job a: run 4: ");
  const auto name = record(2);
  damage({{name, "no message"}});
  EXPECT_TOLD("record " + std::to_string(job_names::number_at(name.substr(1))) + ": ");
}

TEST_F(checked_jobs, an_open_run_under_another_name_is_told) {
  damage_run(job_names::open_run("a", 4), [](stored_run& r) { r.run.number = 5; });
  EXPECT_TOLD("its record is of job a: run 5");
}

TEST_F(checked_jobs, runs_on_the_wrong_side_are_told) {
  damage_run(job_names::open_run("a", 4),
             [](stored_run& r) { r.run.state = jobs::run_state::success; });
  damage_run(record(3), [](stored_run& r) { r.run.state = jobs::run_state::running; });
  EXPECT_TOLD("run 4 has ended and stands among the others");
  EXPECT_TOLD("run 3 has not ended and stands among those that have");
}

TEST_F(checked_jobs, a_hole_in_a_history_is_told) {
  damage({{record(2), ""}});
  EXPECT_TOLD("run 3: the one before it is missing, and older ones are there");
}

TEST_F(checked_jobs, a_missing_newest_run_is_told) {
  damage({{record(3), ""}});
  EXPECT_TOLD("job a: its newest run is missing, and older ones are there");
}

TEST_F(checked_jobs, a_chain_that_leads_to_another_job_is_told) {
  damage_run(record(2), [](stored_run& r) { r.uid = 77; });
  EXPECT_TOLD("run 3: the one before it is another job's");
}

TEST_F(checked_jobs, a_chain_that_skips_is_told) {
  damage_run(record(2), [](stored_run& r) { r.index = 5; });
  EXPECT_TOLD("run 3: the one before it is another job's, or another one");
}

TEST_F(checked_jobs, a_place_that_counts_wrongly_is_told) {
  damage_place("a", [](stored_place& p) { p.ended = 9; });
  EXPECT_TOLD("job a: its newest run is another job's, or another one");
  damage_place("a", [](stored_place& p) { p.ended = 0; });
  EXPECT_TOLD("job a counts 0 ended runs");
}

TEST_F(checked_jobs, counters_that_are_behind_or_missing_are_told) {
  std::string low;
  for (int i = 0; i < 3; ++i)
    job_names::append_number(low, 2);
  damage({{"n", low}});
  EXPECT_TOLD("which the counter would give out again");
  damage({{"n", "short"}});
  EXPECT_TOLD("the counters have the wrong length");
  damage({{"n", ""}});
  EXPECT_TOLD("the counters are missing");
}

TEST_F(checked_jobs, entries_of_other_kinds_and_forms_are_told) {
  damage({{"x", "1"}});
  EXPECT_TOLD("of no known kind");
  damage({{"x", ""}, {"oa", "1"}});
  EXPECT_TOLD("a name of the wrong form");
  damage({{"oa", ""}, {"r1", "1"}});
  EXPECT_TOLD("a name of the wrong length");
  damage({{"r1", ""}, {"ja", "{}"}, {"jb", "{}"}});
  EXPECT_EQ(problems(), "jobs: there are jobs stored by a version of lycosa before format 3, "
                        "which can export them\n");
}

TEST_F(checked_jobs, nothing_is_changed) {
  damage({{record(2), ""}, {job_names::place("b"), "no message"}});
  const auto before = problems();
  EXPECT_EQ(problems(), before);
}

} // namespace
} // namespace lycosa::storage
