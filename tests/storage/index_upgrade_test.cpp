#include "storage/keys.hpp"
#include "storage/maintenance.hpp"
#include "storage/meta.hpp"
#include "tests/storage/fixture.hpp"
#include "tests/storage/raw_env.hpp"

/// Directories of format 4 and before, whose shards have a table `index` in place of `hashes`.
namespace lycosa::storage::test {

namespace {

constexpr int tasks = 500;

std::string name_of(int i) {
  return "task " + std::to_string(i);
}

std::string number(std::uint32_t n) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &n, 4);
  return bytes;
}

std::string old_value(const index_value& v) {
  std::string bytes(index_value::bytes_of_format_4, '\0');
  auto* at = reinterpret_cast<std::byte*>(bytes.data());
  put_little(at, v.seq);
  put_little(at + 8, v.lastcrawltime);
  put_little(at + 16, v.itag_hash);
  put_little(at + 24, v.generation);
  at[28] = static_cast<std::byte>(v.status);
  return bytes;
}

/// Makes a shard what an older version left. Precondition: nothing waits.
void make_older(const std::string& shard, std::uint32_t format) {
  raw_env env(shard);
  const auto hashes = env.table("hashes"), index = env.table("index", true);
  MDB_cursor* c = nullptr;
  ASSERT_EQ(mdb_cursor_open(env.txn(), hashes, &c), 0);
  MDB_val k{}, v{};
  for (int rc = mdb_cursor_get(c, &k, &v, MDB_FIRST); rc == 0;
       rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) {
    const auto key = ref_key(ref_of_hash_key(k.mv_data));
    env.put(index, {reinterpret_cast<const char*>(key.data()), key.size()},
            old_value(*index_value::read({static_cast<const std::byte*>(v.mv_data), v.mv_size})));
  }
  mdb_cursor_close(c);
  ASSERT_EQ(mdb_drop(env.txn(), hashes, 1), 0);
  for (const auto* table : {"queue", "ordering"}) // not known then
    ASSERT_EQ(mdb_drop(env.txn(), env.table(table), 1), 0);
  const auto meta = env.table("meta");
  env.put(meta, "state", env.get(meta, "state").substr(0, 24));
  env.put(meta, "format", number(format));
}

void make_catalog_older(const std::string& dir, std::uint32_t format) {
  raw_env env(dir + "/catalog");
  env.put(env.table("meta"), "format", number(format));
}

/// Two projects, all tasks in their places: the buffer is so small that each commit empties it.
void fill(open_options o) {
  o.index_buffer = 1;
  auto dir = must(open_data_dir(o));
  for (const auto* name : {"project1", "project2"}) {
    project_record p;
    p.name = name;
    must(dir->catalog->put_project(p));
  }
  for (int i = 0; i < tasks; i += 5) {
    auto txn = must(dir->shards[0]->begin());
    for (int j = i; j < i + 5; ++j) {
      const auto id = name_of(j);
      must(txn->insert(named(id, 1 + j % 2), sample(id), {}));
    }
    must(txn->commit(commit_class::growth));
  }
}

void expect_all(shard_store& s) {
  for (int i = 0; i < tasks; ++i) {
    const auto ref = named(name_of(i), 1 + i % 2);
    std::optional<task_slot> slot;
    must(s.find({&ref, 1}, {&slot, 1}));
    ASSERT_TRUE(slot) << i;
    record_batch found;
    must(s.load(std::array{slot->key}, found, nullptr));
    ASSERT_EQ(found.items.size(), 1u);
    EXPECT_EQ(found.items[0].record.taskid, name_of(i));
  }
}

} // namespace

TEST(index_upgrade, an_entry_comes_back_whatever_it_has) {
  for (unsigned has = 0; has < 8; ++has)
    for (auto status : all_statuses) {
      const index_value v{(std::uint64_t{1} << 48) - 1, (has & 1) != 0 ? -5 : 0,
                          (has & 2) != 0 ? ~std::uint64_t{0} : 0, (has & 4) != 0 ? 7u : 0u, status};
      std::array<std::byte, index_value::most> bytes{};
      ASSERT_LE(v.size(), bytes.size());
      v.write(bytes.data());
      EXPECT_EQ(index_value::read(std::span(bytes).first(v.size())), v);
      EXPECT_EQ(index_value::read(std::span(bytes).first(v.size() - 1)), std::nullopt);
    }
}

TEST(index_upgrade, a_directory_of_an_older_format_is_read_as_it_is_and_becomes_this_one) {
  for (const std::uint32_t format : {1u, 4u}) {
    scratch_dir tmp;
    const auto o = options_for(tmp.path());
    fill(o);
    make_older(tmp / "shard-000", format);
    make_catalog_older(tmp.path(), format);
    const auto before = must(check_data_dir(tmp.path()));
    EXPECT_TRUE(before.ok) << before.problems.at(0);
    EXPECT_EQ(before.tasks, static_cast<std::uint64_t>(tasks));
    EXPECT_EQ(must(stats_data_dir(tmp.path())).format, format);

    auto dir = must(open_data_dir(o));
    EXPECT_EQ(dir->shards[0]->epoch(), 2u);
    expect_all(*dir->shards[0]);
    must(insert_one(*dir->shards[0], "one more"));
    dir.reset();
    EXPECT_EQ(must(stats_data_dir(tmp.path())).format, format_version);
    const auto after = must(check_data_dir(tmp.path()));
    EXPECT_TRUE(after.ok) << after.problems.at(0);
    EXPECT_EQ(after.tasks, static_cast<std::uint64_t>(tasks) + 1);
  }
}

TEST(index_upgrade, cut_off_half_way_it_begins_again) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  fill(o);
  make_older(tmp / "shard-000", 4);
  make_catalog_older(tmp.path(), 4);
  {
    raw_env env(tmp / "shard-000"); // some entries are over, one of them since changed
    const auto hashes = env.table("hashes", true);
    for (int i = 0; i < 50; ++i) {
      const auto key = hash_key(named(name_of(i), 1 + i % 2));
      env.put(hashes, {reinterpret_cast<const char*>(key.data()), key.size()},
              std::string(32, 'x'));
    }
  }
  expect_all(*must(open_data_dir(o))->shards[0]);
  const auto after = must(check_data_dir(tmp.path()));
  EXPECT_TRUE(after.ok) << after.problems.at(0);
}

TEST(index_upgrade, a_crash_between_two_shards_leaves_a_directory_that_opens) {
  for (const auto* older : {"shard-000", "shard-001"}) {
    scratch_dir tmp;
    auto o = options_for(tmp.path(), 2);
    fill(o);
    make_older(tmp / older, 4);
    make_catalog_older(tmp.path(), 4); // it is opened last
    const auto before = must(check_data_dir(tmp.path()));
    EXPECT_TRUE(before.ok) << before.problems.at(0);
    expect_all(*must(open_data_dir(o))->shards[0]);
    const auto after = must(check_data_dir(tmp.path()));
    EXPECT_TRUE(after.ok) << after.problems.at(0);
    EXPECT_EQ(after.tasks, static_cast<std::uint64_t>(tasks));
  }
}

} // namespace lycosa::storage::test
