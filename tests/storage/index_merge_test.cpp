#include "storage/index_merge.hpp"
#include "storage/maintenance.hpp"
#include "tests/storage/fixture.hpp"
#include "tests/storage/raw_env.hpp"

#include <map>
#include <random>

/// Changes of the index that wait in memory and in the log until their slice's turn comes.
namespace lycosa::storage::test {

namespace {

index_changes changes(int from, int to) {
  index_changes out;
  for (int i = from; i < to; ++i)
    out[named(std::to_string(i))] = {{static_cast<std::uint64_t>(i), 0, 0, 0, task_status::active},
                                     false};
  return out;
}

/// Carries a plan out on a model of the table.
struct model {
  index_buffer waiting;
  std::map<std::pair<task_hash, project_id>, std::uint64_t> table;
  merge_pace pace;
  std::uint64_t lsn = 0;

  merge_plan commit(const index_changes& fresh, std::size_t target) {
    merge_limits limits;
    limits.target = target;
    ++lsn;
    auto plan = plan_merge(waiting, fresh, fresh.size(), pace, limits);
    for (const auto& [ref, change] : plan.place)
      table[{ref.hash, ref.project}] = change->value.seq;
    for (std::size_t i = 0; i < index_buffer::slices; ++i)
      if (plan.whole[i]) waiting.drop_slice(i);
    for (const auto& [ref, change] : fresh)
      if (!plan.whole[index_buffer::slice_of(ref)]) waiting.put(ref, change, lsn);
    pace = plan.after;
    return plan;
  }
  [[nodiscard]] std::uint64_t oldest() const {
    return waiting.oldest(std::vector<bool>(index_buffer::slices, false));
  }
};

} // namespace

TEST(index_merge, many_wait_and_nothing_is_lost_or_overtaken) {
  model m;
  for (int round = 0; round < 20; ++round) {
    m.commit(changes(round * 100, round * 100 + 200), 1000);
    for (int i = 0; i < round * 100 + 200; ++i) {
      const auto ref = named(std::to_string(i));
      const auto* waits = m.waiting.find(ref);
      const auto placed = m.table.find({ref.hash, ref.project});
      ASSERT_TRUE(waits != nullptr || placed != m.table.end());
      EXPECT_EQ(waits ? waits->value.seq : placed->second, static_cast<std::uint64_t>(i));
    }
  }
  EXPECT_FALSE(m.waiting.empty());
  EXPECT_FALSE(m.table.empty());
}

TEST(index_merge, places_are_in_key_order) {
  model m;
  m.commit(changes(0, 1000), 1);
  const auto plan = m.commit(changes(500, 3000), 1);
  ASSERT_GT(plan.place.size(), 1000u);
  for (std::size_t i = 1; i < plan.place.size(); ++i)
    ASSERT_LT(hash_key(plan.place[i - 1].first), hash_key(plan.place[i].first));
}

TEST(index_merge, the_log_is_needed_no_further_back_than_a_round_though_few_tasks_change) {
  model m;
  const auto same = changes(0, 100);
  for (int i = 0; i < 500; ++i) {
    m.commit(same, 1000); // a round is 2,000 changes, 20 commits
    if (m.oldest() != index_buffer::none) {
      ASSERT_GE(m.oldest() + 21, m.lsn);
    }
  }
}

TEST(index_merge, each_slice_has_its_turn_though_commits_are_small) {
  model m;
  m.commit(changes(0, 2000), 1000);
  for (int i = 0; i < 2000; ++i)
    m.commit(changes(5000, 5001), 1000); // half a slice each
  for (const auto& [ref, change] : changes(0, 2000))
    EXPECT_EQ((m.table[{ref.hash, ref.project}]), change.value.seq);
  EXPECT_LE(m.waiting.size(), 1u);
}

/// The same random changes on LMDB with a small buffer and on memory, with the directory closed
/// without notice and opened again in between.
TEST(index_merge, after_any_restart_the_index_is_what_was_committed) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    scratch_dir tmp;
    auto o = options_for(tmp.path());
    o.index_buffer = seed % 2 == 0 ? 50 : 5000;
    o.log_bytes = seed > 2 ? 0 : o.log_bytes;
    auto dir = must(open_data_dir(o));
    auto memory = open_memory(1);
    for (const auto* name : {"project1", "project2"}) {
      project_record p;
      p.name = name;
      must(dir->catalog->put_project(p));
    }
    std::vector<std::string> names;
    for (int i = 0; i < 600; ++i)
      names.push_back("task " + std::to_string(i));
    for (int commit = 0; commit < 60; ++commit) {
      auto a = must(dir->shards[0]->begin());
      auto b = must(memory->shards[0]->begin());
      const auto erase = random() % 15 == 0;
      const auto changed = random() % 3 == 0 ? 1 + random() % 5 : random() % 120;
      for (std::size_t n = 0; !erase && n < changed; ++n) {
        const auto& id = names[random() % names.size()];
        const auto ref = named(id, 1 + static_cast<std::uint32_t>(random() % 2));
        std::optional<task_slot> known;
        must(b->find({&ref, 1}, {&known, 1}));
        std::optional<task_slot> same;
        must(a->find({&ref, 1}, {&same, 1}));
        ASSERT_EQ(known.has_value(), same.has_value()) << id;
        task t = sample(id);
        t.generation = static_cast<std::uint32_t>(random());
        t.status = all_statuses[random() % 4];
        if (known) {
          must(a->update(ref, same->key, known->status, t, {}));
          must(b->update(ref, known->key, known->status, t, {}));
        } else {
          must(a->insert(ref, t, {}));
          must(b->insert(ref, t, {}));
        }
      }
      if (erase) {
        const auto project = project_id{1 + static_cast<std::uint32_t>(random() % 2)};
        EXPECT_EQ(must(a->erase_some(project, 10'000)), must(b->erase_some(project, 10'000)));
      }
      if (random() % 10 == 0) continue; // given up: leaves no trace
      must(a->commit(commit_class::growth));
      must(b->commit(commit_class::growth));
      a.reset();
      b.reset();
      if (random() % 6 == 0) {
        dir.reset();
        const auto report = must(check_data_dir(tmp.path()));
        ASSERT_TRUE(report.ok) << report.problems.at(0);
        dir = must(open_data_dir(o));
      }
      for (const auto& id : names)
        for (std::uint32_t project : {1u, 2u}) {
          const auto ref = named(id, project);
          std::optional<task_slot> x, y;
          must(dir->shards[0]->find({&ref, 1}, {&x, 1}));
          must(memory->shards[0]->find({&ref, 1}, {&y, 1}));
          ASSERT_EQ(x.has_value(), y.has_value()) << id << " after commit " << commit;
          if (!x) continue;
          EXPECT_EQ(x->generation, y->generation);
          EXPECT_EQ(x->status, y->status);
        }
    }
  }
}

TEST(index_merge, runs_that_are_shorter_than_a_round_do_not_let_the_log_grow) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  o.index_buffer = 100; // a round is 200 changes, 20 commits
  o.log_bytes = 0;
  project_record p;
  p.name = "project1";
  must(must(open_data_dir(o))->catalog->put_project(p));
  for (int run = 0; run < 60; ++run) {
    auto dir = must(open_data_dir(o));
    for (int i = 0; i < 4; ++i) {
      auto txn = must(dir->shards[0]->begin());
      for (int j = 0; j < 10; ++j) {
        const auto id = std::to_string((run * 4 + i) * 10 + j);
        must(txn->insert(named(id), sample(id), {}));
      }
      must(txn->commit(commit_class::growth));
    }
  }
  const auto report = must(check_data_dir(tmp.path()));
  EXPECT_TRUE(report.ok) << report.problems.at(0);
  EXPECT_EQ(report.tasks, 2400u);
  EXPECT_LE(report.log_batches, 45u);
}

TEST(retention_sweep, what_cannot_be_read_stays_and_the_next_oldest_goes) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  std::vector<task_key> keys;
  {
    auto dir = must(open_data_dir(o));
    for (const auto* id : {"a", "b", "c"}) {
      keys.push_back(must(insert_one(*dir->shards[0], id)));
      auto txn = must(dir->shards[0]->begin());
      task t;
      t.taskid = id;
      t.status = task_status::success;
      t.updatetime = at(5);
      must(txn->update(named(id), keys.back(), task_status::active, t, {}));
      must(txn->commit(commit_class::settle));
    }
  }
  {
    raw_env env(tmp / "shard-000");
    const auto key = seq_key(keys[0].seq());
    env.put(env.table("tasks"), {reinterpret_cast<const char*>(key.data()), key.size()},
            std::string(64, '\xff'));
  }
  auto dir = must(open_data_dir(o));
  settled_sweep sweep;
  sweep.excess = 1;
  sweep.older_than = at(100);
  auto txn = must(dir->shards[0]->begin());
  EXPECT_EQ(must(txn->erase_settled(project_id{1}, sweep, 100)).erased, 2u);
  must(txn->commit(commit_class::settle));
  EXPECT_EQ(must(dir->shards[0]->counts(project_id{1})).success, 1);
  std::optional<task_slot> slot;
  const auto ref = named("a");
  must(dir->shards[0]->find({&ref, 1}, {&slot, 1}));
  EXPECT_TRUE(slot);
}

TEST(index_merge, a_log_record_that_is_missing_is_reported_not_passed_over) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  {
    auto dir = must(open_data_dir(o));
    project_record p;
    p.name = "project1";
    must(dir->catalog->put_project(p));
    for (int i = 0; i < 3; ++i) {
      auto txn = must(dir->shards[0]->begin());
      for (int j = 0; j < 50; ++j) {
        const auto id = std::to_string(i * 50 + j);
        must(txn->insert(named(id), sample(id), {}));
      }
      must(txn->commit(commit_class::growth));
    }
  }
  {
    raw_env env(tmp / "shard-000");
    const auto log = env.table("log");
    const auto key = log_key(2, 1);
    env.erase(log, {reinterpret_cast<const char*>(key.data()), key.size()});
  }
  const auto report = must(check_data_dir(tmp.path()));
  EXPECT_FALSE(report.ok);
  const auto opened = open_data_dir(o);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::corrupt);
  EXPECT_NE(opened.error().text().find("log record 2"), std::string::npos) << opened.error().text();
}

} // namespace lycosa::storage::test
