#include "storage/maintenance.hpp"
#include "storage/meta.hpp"
#include "tests/storage/queue_fixture.hpp"
#include "tests/storage/raw_env.hpp"

/// Queues kept in order, in their files.
namespace lycosa::storage::test {

namespace {

constexpr int tasks = 20;

/// One project in the catalog with some tasks of project 1.
std::vector<task_key> fill(const open_options& o) {
  auto dir = must(open_data_dir(o));
  project_record p;
  p.name = "project1";
  must(dir->catalog->put_project(p));
  std::vector<task_key> keys;
  for (int i = 0; i < tasks; ++i)
    keys.push_back(must(insert_one(*dir->shards[0], std::to_string(i), 1,
                                   {at(100 - i), i % 3, static_cast<std::uint64_t>(i)})));
  return keys;
}

void expect_sound(const std::string& dir) {
  const auto report = must(check_data_dir(dir));
  EXPECT_TRUE(report.ok) << report.problems.at(0);
}

void expect_problem(const std::string& dir, const std::string& what) {
  const auto report = must(check_data_dir(dir));
  EXPECT_EQ(report.problem_count, 1u);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find(what), std::string::npos) << report.problems[0];
}

std::string text_of(const auto& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

/// The queue key of task `i` of `fill`.
std::string key_of(int i, task_key key) {
  return text_of(
      queue_key(project_id{1}, {at(100 - i), i % 3, static_cast<std::uint64_t>(i)}, key.seq()));
}

std::size_t entries(const std::string& shard, const char* table) {
  raw_env env(shard);
  MDB_stat stat{};
  EXPECT_EQ(mdb_stat(env.txn(), env.table(table), &stat), 0);
  return stat.ms_entries;
}

open_options for_reading(const std::string& dir) {
  auto o = options_for(dir);
  o.create = false;
  o.read_only = true;
  return o;
}

void make_format_5(const std::string& dir) {
  const std::string five("\5\0\0\0", 4);
  raw_env shard(dir + "/shard-000");
  shard.put(shard.table("meta"), "format", five);
  for (const auto* table : {"queue", "ordering"})
    EXPECT_EQ(mdb_drop(shard.txn(), shard.table(table), 1), 0);
  raw_env catalog(dir + "/catalog");
  catalog.put(catalog.table("meta"), "format", five);
}

} // namespace

TEST(queue_on_disk, it_goes_on_after_a_start_whatever_state_it_was_in) {
  enum { building, complete, removing };
  for (int state : {building, complete, removing})
    for (bool wanted : {true, false}) {
      scratch_dir tmp;
      const auto o = options_for(tmp.path());
      const auto keys = fill(o);
      {
        auto dir = must(open_data_dir(o));
        auto& s = *dir->shards[0];
        if (state == removing) keep(s, 1);
        EXPECT_EQ(step(s, 1, state != removing, state == complete ? 100 : 5).done,
                  state == complete);
      }
      expect_sound(tmp.path());
      {
        auto dir = must(open_data_dir(o));
        auto& s = *dir->shards[0];
        EXPECT_EQ(is_kept(s, 1), state == complete);
        for (int i = 0; i < 4; ++i) {
          const auto n = static_cast<std::size_t>(i);
          change(s, std::to_string(i), keys[n], task_status::success);
          change(s, std::to_string(19 - i), keys[19 - n], task_status::active, {at(7), i, 7});
          must(insert_one(s, "new " + std::to_string(i), 1, {at(i), 0, 0}));
        }
        if (state == complete) {
          EXPECT_EQ(read_queue(s, 1), expected_queue(s, 1));
        }
      }
      expect_sound(tmp.path());
      {
        auto dir = must(open_data_dir(o));
        auto& s = *dir->shards[0];
        keep(s, 1, wanted, 5);
        EXPECT_EQ(is_kept(s, 1), wanted);
        if (wanted) {
          EXPECT_EQ(read_queue(s, 1), expected_queue(s, 1));
        }
      }
      expect_sound(tmp.path());
      EXPECT_EQ(entries(tmp / "shard-000", "queue"), wanted ? static_cast<std::size_t>(tasks) : 0u);
      EXPECT_EQ(entries(tmp / "shard-000", "ordering"), wanted ? 1u : 0u);
    }
}

TEST(queue_on_disk, a_deleted_project_leaves_nothing_whatever_state_it_was_in) {
  for (std::size_t limit : {5, 100})
    for (bool removing : {false, true}) {
      scratch_dir tmp;
      const auto o = options_for(tmp.path());
      fill(o);
      {
        auto dir = must(open_data_dir(o));
        auto& s = *dir->shards[0];
        step(s, 1, true, limit);
        if (removing) step(s, 1, false, 3);
        for (std::size_t n = 1; n != 0;) {
          auto txn = must(s.begin());
          n = must(txn->erase_some(project_id{1}, 7));
          must(txn->commit(commit_class::settle));
        }
      }
      expect_sound(tmp.path());
      for (const auto* table : {"queue", "ordering", "active"})
        EXPECT_EQ(entries(tmp / "shard-000", table), 0u) << table;
    }
}

TEST(queue_on_disk, projects_that_do_not_ask_for_it_write_nothing) {
  scratch_dir tmp;
  fill(options_for(tmp.path()));
  EXPECT_EQ(entries(tmp / "shard-000", "queue"), 0u);
  EXPECT_EQ(entries(tmp / "shard-000", "ordering"), 0u);
}

TEST(queue_on_disk, a_directory_of_format_5_is_read_as_it_is_and_becomes_this_one) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  fill(o);
  make_format_5(tmp.path());
  expect_sound(tmp.path());
  EXPECT_EQ(must(stats_data_dir(tmp.path())).format, 5u);
  {
    auto dir = must(open_data_dir(for_reading(tmp.path())));
    EXPECT_EQ(must(dir->shards[0]->stats()).tasks, static_cast<std::uint64_t>(tasks));
    EXPECT_FALSE(is_kept(*dir->shards[0], 1));
  }
  must(backup_data_dir(tmp.path(), tmp / "old.backup"));
  {
    auto dir = must(open_data_dir(o));
    EXPECT_FALSE(is_kept(*dir->shards[0], 1));
    EXPECT_EQ(keep(*dir->shards[0], 1), static_cast<std::size_t>(tasks));
    EXPECT_EQ(read_queue(*dir->shards[0], 1), expected_queue(*dir->shards[0], 1));
  }
  EXPECT_EQ(must(stats_data_dir(tmp.path())).format, format_version);
  expect_sound(tmp.path());
  must(restore_data_dir(tmp / "old.backup", tmp / "restored"));
  EXPECT_FALSE(is_kept(*must(open_data_dir(options_for(tmp / "restored")))->shards[0], 1));
}

TEST(queue_on_disk, a_backup_has_it) {
  scratch_dir tmp;
  const auto o = options_for(tmp / "data");
  fill(o);
  keep(*must(open_data_dir(o))->shards[0], 1);
  must(backup_data_dir(o.dir, tmp / "backup"));
  must(restore_data_dir(tmp / "backup", tmp / "restored"));
  expect_sound(tmp / "restored");
  auto dir = must(open_data_dir(for_reading(tmp / "restored")));
  EXPECT_EQ(read_queue(*dir->shards[0], 1), expected_queue(*dir->shards[0], 1));
  EXPECT_EQ(read_queue(*dir->shards[0], 1).size(), static_cast<std::size_t>(tasks));
}

TEST(queue_on_disk, check_says_what_does_not_fit) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  const auto keys = fill(o);
  keep(*must(open_data_dir(o))->shards[0], 1);
  expect_sound(tmp.path());
  const auto with = [&](auto&& damage) {
    raw_env env(tmp / "shard-000");
    damage(env, env.table("queue"));
  };
  const auto there = key_of(4, keys[4]);
  with([&](raw_env& env, MDB_dbi queue) { env.erase(queue, there); });
  expect_problem(tmp.path(), "task 5 is missing in the queue of project 1");
  with([&](raw_env& env, MDB_dbi queue) { env.put(queue, there, ""); });
  const auto elsewhere = key_of(5, keys[4]);
  with([&](raw_env& env, MDB_dbi queue) { env.put(queue, elsewhere, ""); });
  expect_problem(tmp.path(), "task 5 stands in queue where it is not");
  const auto nobody = key_of(5, task_key{0, 999});
  with([&](raw_env& env, MDB_dbi queue) {
    env.erase(queue, elsewhere);
    env.put(queue, nobody, "");
  });
  expect_problem(tmp.path(), "queue points to task 999");
  const auto foreign = text_of(queue_key(project_id{8}, {}, 1));
  with([&](raw_env& env, MDB_dbi queue) {
    env.erase(queue, nobody);
    env.put(queue, foreign, "");
  });
  expect_problem(tmp.path(), "queue has entries of project 8, which is not kept in order");
  with([&](raw_env& env, MDB_dbi queue) {
    env.erase(queue, foreign);
    env.put(queue, "short", "");
  });
  expect_problem(tmp.path(), "key of the wrong length");
  with([&](raw_env& env, MDB_dbi queue) { env.erase(queue, "short"); });
  expect_sound(tmp.path());
}

TEST(queue_on_disk, an_entry_that_is_missing_stops_no_report) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  const auto keys = fill(o);
  keep(*must(open_data_dir(o))->shards[0], 1);
  {
    raw_env env(tmp / "shard-000");
    for (std::size_t i : {4, 5, 6})
      env.erase(env.table("queue"), key_of(static_cast<int>(i), keys[i]));
  }
  {
    auto dir = must(open_data_dir(o));
    auto& s = *dir->shards[0];
    change(s, "4", keys[4], task_status::success);
    change(s, "5", keys[5], task_status::active, {at(1), 1, 1});
    change(s, "6", keys[6], task_status::active, {at(94), 0, 6}); // to where it should stand
    EXPECT_EQ(read_queue(s, 1), expected_queue(s, 1));
  }
  expect_sound(tmp.path());
}

TEST(queue_on_disk, a_row_that_cannot_be_read_is_refused_and_left_alone) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  fill(o);
  const auto row = text_of(project_key(project_id{1}));
  for (const std::string& bad : {std::string("\1"), "\4" + std::string(8, '\0'), std::string()}) {
    {
      raw_env env(tmp / "shard-000");
      env.put(env.table("ordering"), row, bad);
    }
    const auto opened = open_data_dir(o);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::corrupt);
    EXPECT_NE(opened.error().text().find("ordering"), std::string::npos);
    expect_problem(tmp.path(), "ordering");
    raw_env env(tmp / "shard-000");
    EXPECT_EQ(env.get(env.table("ordering"), row), bad);
  }
}

TEST(queue_on_disk, a_step_without_room_leaves_everything_as_it_was) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  o.map_size = 4 << 20;
  {
    auto dir = must(open_data_dir(o));
    auto& s = *dir->shards[0];
    project_record p;
    p.name = "project1";
    must(dir->catalog->put_project(p));
    task_key first{};
    // By hundreds, then one by one until there is no room for another.
    std::uint64_t in = 0;
    for (int size : {100, 1})
      for (bool room = true; room;) {
        ASSERT_LT(in, 100'000u);
        auto txn = must(s.begin());
        for (int i = 0; i < size; ++i, ++in) {
          task t;
          const auto id = std::to_string(in);
          t.taskid = id;
          const auto key = must(txn->insert(named(id), t, {at(0), 0, in}));
          if (in == 0) first = key;
        }
        const auto done = txn->commit(commit_class::growth);
        room = done.has_value();
        if (!room) {
          ASSERT_EQ(done.error().code, errc::no_space);
        }
      }
    auto txn = must(s.begin());
    const auto did = txn->keep_in_order(project_id{1}, true, 100'000);
    const auto done = did ? txn->commit(commit_class::growth) : tl::unexpected(did.error());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::no_space);
    txn.reset();
    EXPECT_FALSE(is_kept(s, 1));
    change(s, "0", first, task_status::active, {at(1), 1, 1});
  }
  expect_sound(tmp.path());
  EXPECT_EQ(entries(tmp / "shard-000", "queue"), 0u);
  EXPECT_EQ(entries(tmp / "shard-000", "ordering"), 0u);
}

} // namespace lycosa::storage::test
