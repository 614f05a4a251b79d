#include "storage/keys.hpp"
#include "storage/maintenance.hpp"
#include "storage/meta.hpp"
#include "tests/storage/fixture.hpp"

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

/// The data directory as a whole: opening, damage, lack of space, crashes, backups.
namespace lycosa::storage::test {

namespace fs = std::filesystem;

namespace {

void fill(const open_options& o, int tasks) {
  auto dir = must(open_data_dir(o));
  project_record p;
  p.name = "one";
  must(dir->catalog->put_project(p));
  for (auto& s : dir->shards) {
    auto txn = must(s->begin());
    for (int i = 0; i < tasks; ++i) {
      const auto id = std::to_string(i);
      auto t = sample(id);
      const auto key = must(txn->insert(named(id), t, {}));
      t.status = task_status::success;
      if (i % 3 == 0) must(txn->update(named(id), key, task_status::active, t, {}));
      if (i % 4 == 0) must(txn->put_result(named(id), {id, "1", {}}));
    }
    must(txn->commit(commit_class::growth));
  }
}

error open_error(const open_options& o) {
  auto opened = open_data_dir(o);
  return opened ? error{errc::internal, "", "it was opened"} : opened.error();
}

/// One report as the shard writer makes it.
result<void> settle(shard_store& s, const std::string& id, task_key key) {
  auto txn = s.begin();
  if (!txn) return tl::unexpected(txn.error());
  task t;
  t.taskid = id;
  t.status = task_status::success;
  if (auto ok = (*txn)->update(named(id), key, task_status::active, t, {}); !ok) return ok;
  if (auto ok = (*txn)->commit(commit_class::settle); !ok) return tl::unexpected(ok.error());
  return {};
}

result<task_key> insert_big(shard_store& s, const std::string& id, const std::string& body) {
  auto txn = s.begin();
  if (!txn) return tl::unexpected(txn.error());
  task t;
  t.taskid = id;
  t.fetch = body;
  auto key = (*txn)->insert(named(id), t, {});
  if (!key) return key;
  if (auto ok = (*txn)->commit(commit_class::growth); !ok) return tl::unexpected(ok.error());
  return key;
}

} // namespace

TEST(data_directory, what_was_committed_is_there_after_reopening_under_the_next_epoch) {
  scratch_dir tmp;
  const auto o = options_for(tmp / "new/data", 3);
  fill(o, 10);
  auto dir = must(open_data_dir(o));
  ASSERT_EQ(dir->shards.size(), 3u);
  for (auto& s : dir->shards) {
    EXPECT_EQ(s->epoch(), 2u);
    EXPECT_EQ(must(s->stats()).tasks, 10u);
    EXPECT_EQ(must(s->counts(project_id{1})).success, 4);
  }
  EXPECT_EQ(must(dir->catalog->projects()).size(), 1u);
}

TEST(data_directory, a_commit_tells_how_long_the_disk_took_if_it_was_needed) {
  const scratch_dir dir;
  auto data = must(open_data_dir(options_for(dir.path())));
  auto& shard = *data->shards[0];
  must(insert_big(shard, "a", "{}"));
  EXPECT_GT(shard.last_sync(), usec{0});
  must(must(shard.begin())->commit(commit_class::settle));
  EXPECT_EQ(shard.last_sync(), usec{0});
}

TEST(data_directory, zero_shards_means_what_is_there) {
  scratch_dir tmp;
  fill(options_for(tmp.path(), 2), 1);
  EXPECT_EQ(must(open_data_dir(options_for(tmp.path(), 0)))->shards.size(), 2u);
}

TEST(data_directory, another_shard_count_is_refused_with_both_numbers) {
  scratch_dir tmp;
  fill(options_for(tmp.path(), 2), 1);
  const auto e = open_error(options_for(tmp.path(), 5));
  EXPECT_EQ(e.code, errc::incompatible);
  EXPECT_NE(e.text().find("2 shards"), std::string::npos) << e.text();
  EXPECT_NE(e.text().find("5 were asked for"), std::string::npos) << e.text();
  EXPECT_EQ(must(open_data_dir(options_for(tmp.path(), 2)))->shards[0]->epoch(), 2u);
}

TEST(data_directory, a_second_process_is_told_who_has_it) {
  scratch_dir tmp;
  auto first = must(open_data_dir(options_for(tmp.path())));
  const auto e = open_error(options_for(tmp.path()));
  EXPECT_EQ(e.code, errc::incompatible);
  EXPECT_NE(e.text().find(std::to_string(::getpid())), std::string::npos) << e.text();
}

TEST(data_directory, a_missing_or_wrong_path_is_one_clear_error) {
  scratch_dir tmp;
  auto o = options_for(tmp / "none");
  o.create = false;
  EXPECT_EQ(open_error(o).code, errc::not_found);
  std::ofstream(tmp / "file") << "x";
  EXPECT_EQ(open_error(options_for(tmp / "file")).code, errc::io_error);
}

TEST(data_directory, a_truncated_or_foreign_file_is_refused_and_left_alone) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path(), 2);
  fill(o, 2000);
  const auto file = tmp / "shard-001/data.mdb";
  const auto whole = fs::file_size(file);
  fs::copy_file(file, tmp / "kept");
  for (const std::uintmax_t cut :
       {whole / 2, whole - 4096, std::uintmax_t{4096}, std::uintmax_t{0}}) {
    fs::resize_file(file, cut);
    EXPECT_EQ(open_error(o).code, errc::corrupt) << cut;
    EXPECT_FALSE(must(check_data_dir(tmp.path())).ok);
    EXPECT_EQ(fs::file_size(file), cut);
    fs::copy_file(tmp / "kept", file, fs::copy_options::overwrite_existing);
  }
  std::ofstream(file, std::ios::trunc) << std::string(20000, 'g');
  EXPECT_EQ(open_error(o).code, errc::corrupt);
  fs::remove(file);
  EXPECT_EQ(open_error(o).code, errc::corrupt);
  fs::copy_file(tmp / "kept", file);
  EXPECT_EQ(must(open_data_dir(o))->shards[0]->epoch(), 2u);
}

TEST(data_directory, a_shard_of_another_directory_is_refused) {
  scratch_dir a, b;
  fill(options_for(a.path()), 1);
  fill(options_for(b.path()), 1);
  fs::copy_file(a / "shard-000/data.mdb", b / "shard-000/data.mdb",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error(options_for(b.path())).code, errc::incompatible);
}

/// The file's bytes with its format version changed.
std::string with_format(const fs::path& file, char from, char to) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  // LMDB keeps a key and its value side by side.
  const std::string old = std::string("format") + from + std::string(3, '\0');
  std::size_t found = 0;
  for (auto at = bytes.find(old); at != std::string::npos; at = bytes.find(old, at + 1), ++found)
    bytes[at + 6] = to;
  EXPECT_GT(found, 0u);
  return bytes;
}

void write_file(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

constexpr char this_format = static_cast<char>(format_version);

TEST(data_directory, a_newer_format_is_refused_and_left_alone) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path(), 2);
  fill(o, 5);
  const auto file = tmp / "shard-001/data.mdb";
  const auto bytes = with_format(file, this_format, this_format + 1);
  write_file(file, bytes);
  const auto e = open_error(o);
  EXPECT_EQ(e.code, errc::incompatible);
  EXPECT_NE(e.text().find("format " + std::to_string(this_format + 1)), std::string::npos)
      << e.text();
  EXPECT_EQ(with_format(file, this_format + 1, this_format + 1), bytes);
  write_file(file, with_format(file, this_format + 1, this_format));
  EXPECT_EQ(must(open_data_dir(o))->shards[0]->epoch(), 2u);
}

TEST(data_directory, counts_of_the_first_format_lack_only_the_time_of_the_last_settling) {
  std::array<std::byte, counts_value::bytes> b{};
  counts_value::write({1, 2, 3, 4, wall_time{usec{5}}}, b.data());
  const auto now = counts_value::read(b.data(), counts_value::bytes);
  EXPECT_EQ(now.bad, 4);
  EXPECT_EQ(now.last_settled, wall_time{usec{5}});
  const auto old = counts_value::read(b.data(), counts_value::bytes_of_format_1);
  EXPECT_EQ(old.active, 1);
  EXPECT_EQ(old.bad, 4);
  EXPECT_EQ(old.last_settled, wall_time{});
}

TEST(data_directory, a_making_that_was_cut_off_is_begun_again) {
  scratch_dir tmp;
  std::ofstream(tmp / "creating") << "";
  fs::create_directories(tmp / "shard-000");
  std::ofstream(tmp / "shard-000/data.mdb") << "torn";
  EXPECT_EQ(must(open_data_dir(options_for(tmp.path(), 2)))->shards.size(), 2u);
  EXPECT_FALSE(fs::exists(tmp / "creating"));
}

TEST(data_directory, a_full_map_refuses_new_work_and_finishes_the_old) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  o.map_size = 8 << 20;
  auto dir = must(open_data_dir(o));
  auto& s = *dir->shards[0];
  const std::string body(3000, 'b');
  std::vector<std::pair<std::string, task_key>> in;
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 200);
    auto txn = must(s.begin());
    std::vector<std::pair<std::string, task_key>> batch;
    for (int i = 0; i < 20; ++i) {
      const auto id = std::to_string(n) + "-" + std::to_string(i);
      task t;
      t.taskid = id;
      t.fetch = body;
      batch.emplace_back(id, must(txn->insert(named(id), t, {})));
    }
    const auto done = txn->commit(commit_class::growth);
    if (!done) {
      EXPECT_EQ(done.error().code, errc::no_space) << done.error().text();
      break;
    }
    in.insert(in.end(), batch.begin(), batch.end());
  }
  ASSERT_GT(in.size(), 500u);
  EXPECT_TRUE(must(s.stats()).low_space);
  for (const auto& [id, key] : in)
    must(settle(s, id, key));
  record_batch batch;
  must(s.load(std::vector{in[0].second}, batch, nullptr));
  EXPECT_EQ(batch.items.size(), 1u);
  for (;;) {
    auto txn = must(s.begin());
    const auto n = must(txn->erase_some(project_id{1}, 100));
    must(txn->commit(commit_class::settle));
    if (n == 0) break;
  }
  must(insert_big(s, "again", body));
  EXPECT_FALSE(must(s.stats()).low_space);
}

TEST(data_directory, a_full_disk_refuses_new_work_and_finishes_the_old) {
  scratch_dir tmp;
  if (::mount("tmpfs", tmp.path().c_str(), "tmpfs", 0, "size=24m") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  struct unmount {
    std::string path;
    ~unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } const gone{tmp.path()};
  auto dir = must(open_data_dir(options_for(tmp / "data")));
  auto& s = *dir->shards[0];
  EXPECT_TRUE(fs::exists(tmp / "data/reserve"));
  const std::string body(3000, 'b');
  std::vector<std::pair<std::string, task_key>> in;
  for (int i = 0; i < 1000; ++i)
    in.emplace_back(std::to_string(i), must(insert_big(s, std::to_string(i), body)));
  // Somebody else fills the disk to the last byte.
  {
    std::ofstream hog(tmp / "hog", std::ios::binary);
    const std::string block(4096, 'h');
    while (hog.write(block.data(), 4096) && hog.flush()) {
    }
  }
  auto refused = insert_big(s, "new", body);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::no_space) << refused.error().text();
  EXPECT_TRUE(must(s.stats()).low_space);
  for (int i = 0; i < 300; ++i) {
    auto done = settle(s, in[i].first, in[i].second);
    if (!done && done.error().code == errc::no_space && s.release_reserve())
      done = settle(s, in[i].first, in[i].second);
    ASSERT_TRUE(done) << done.error().text();
  }
  EXPECT_FALSE(fs::exists(tmp / "data/reserve"));
  EXPECT_EQ(must(s.counts(project_id{1})).success, 300);
  fs::remove(tmp / "hog");
  must(insert_big(s, "new", body));
  EXPECT_FALSE(must(s.stats()).low_space);
  EXPECT_TRUE(fs::exists(tmp / "data/reserve"));
}

TEST(data_directory, a_disk_that_the_store_has_filled_is_usable_again_once_work_is_done) {
  scratch_dir tmp;
  if (::mount("tmpfs", tmp.path().c_str(), "tmpfs", 0, "size=24m") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  struct unmount {
    std::string path;
    ~unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } const gone{tmp.path()};
  auto dir = must(open_data_dir(options_for(tmp / "data")));
  auto& s = *dir->shards[0];
  const std::string body(3000, 'b');
  int next = 0;
  // Takes tasks until there is no room; at each but the first fill it is the file's own free pages
  // that are filled, since a file never shrinks.
  for (int round = 0; round < 4; ++round) {
    std::vector<std::pair<std::string, task_key>> in;
    for (;; ++next) {
      auto key = insert_big(s, std::to_string(next), body);
      if (!key) {
        EXPECT_EQ(key.error().code, errc::no_space) << key.error().text();
        break;
      }
      in.emplace_back(std::to_string(next), *key);
      ASSERT_LT(in.size(), 10'000u);
    }
    EXPECT_GT(in.size(), 1000u) << "round " << round;
    EXPECT_TRUE(must(s.stats()).low_space);
    for (const auto& [id, key] : in) {
      auto done = settle(s, id, key);
      if (!done && done.error().code == errc::no_space && s.release_reserve())
        done = settle(s, id, key);
      ASSERT_TRUE(done) << done.error().text();
    }
    for (;;) {
      auto txn = must(s.begin());
      const auto n = must(txn->erase_some(project_id{1}, 100));
      must(txn->commit(commit_class::settle));
      if (n == 0) break;
    }
    EXPECT_FALSE(must(s.stats()).low_space);
  }
}

TEST(data_directory, what_was_acknowledged_survives_a_kill_at_any_moment) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path());
  fill(o, 1);
  std::uint64_t acknowledged = must(open_data_dir(o))->shards[0]->stats()->last_lsn;
  for (int round = 0; round < 8; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const auto child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      auto dir = open_data_dir(o);
      if (!dir) ::_exit(1);
      for (int i = 0;; ++i) {
        const auto id = std::to_string(round) + "-" + std::to_string(i);
        auto txn = *(*dir)->shards[0]->begin();
        task t;
        t.taskid = id;
        auto key = txn->insert(named(id), t, {});
        t.status = task_status::failed;
        if (i % 2 == 0 && !txn->update(named(id), *key, task_status::active, t, {})) ::_exit(1);
        const auto lsn = txn->commit(commit_class::growth);
        if (!lsn || ::write(pipe[1], &*lsn, 8) != 8) ::_exit(1);
      }
    }
    ::close(pipe[1]);
    std::uint64_t lsn = 0;
    for (int n = 0; n < 5 + round * 17 && ::read(pipe[0], &lsn, 8) == 8; ++n)
      acknowledged = lsn;
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &lsn, 8) == 8)
      acknowledged = lsn;
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    const auto report = must(check_data_dir(tmp.path()));
    EXPECT_TRUE(report.ok) << report.problems.at(0);
    auto dir = must(open_data_dir(o));
    const auto stats = must(dir->shards[0]->stats());
    EXPECT_GE(stats.last_lsn, acknowledged);
    EXPECT_EQ(stats.tasks, stats.last_lsn); // one task a commit, from the first on
  }
}

TEST(data_directory, the_log_is_kept_within_its_bound) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  o.log_bytes = 64 << 10;
  o.index_buffer = 100;
  {
    auto dir = must(open_data_dir(o));
    project_record p;
    p.name = "one";
    must(dir->catalog->put_project(p));
    for (int i = 0; i < 60; ++i) {
      auto txn = must(dir->shards[0]->begin());
      for (int j = 0; j < 50; ++j) {
        const auto id = std::to_string(i) + "/" + std::to_string(j);
        must(txn->insert(named(id), sample(id), {}));
      }
      must(txn->commit(commit_class::growth));
    }
  }
  const auto report = must(check_data_dir(tmp.path()));
  EXPECT_TRUE(report.ok) << report.problems.at(0);
  EXPECT_GE(report.log_batches, 10u);
  EXPECT_LE(report.log_batches, 20u);
}

TEST(maintenance, check_and_stats_work_while_a_node_runs) {
  scratch_dir tmp;
  const auto o = options_for(tmp.path(), 2);
  fill(o, 100);
  // LMDB must not be opened twice in one process: the running node is another one.
  int ready[2], stop[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(stop), 0);
  const auto child = ::fork();
  if (child == 0) {
    ::close(stop[1]);
    auto dir = open_data_dir(o);
    char c = dir ? 'y' : 'n';
    if (::write(ready[1], &c, 1) != 1) ::_exit(1);
    while (::read(stop[0], &c, 1) > 0) {
    }
    ::_exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  const auto report = must(check_data_dir(tmp.path()));
  EXPECT_TRUE(report.ok) << report.problems.at(0);
  EXPECT_EQ(report.tasks, 200u);
  EXPECT_EQ(report.settled, 68u);
  EXPECT_EQ(report.results, 50u);
  const auto stats = must(stats_data_dir(tmp.path()));
  EXPECT_EQ(stats.shards.size(), 2u);
  EXPECT_EQ(stats.epoch, 2u);
  EXPECT_EQ(stats.projects, 1u);
  EXPECT_TRUE(backup_data_dir(tmp.path(), tmp / "backup"));
  ::close(stop[0]);
  ::close(stop[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(maintenance, a_backup_restores_to_the_same_content) {
  scratch_dir tmp;
  fill(options_for(tmp / "data", 2), 500);
  {
    auto dir = must(open_data_dir(options_for(tmp / "data", 2)));
    must(backup_data_dir(*dir, tmp / "out.lycosa"));
    EXPECT_EQ(backup_data_dir(*dir, tmp / "out.lycosa").error().code, errc::conflict);
  }
  must(restore_data_dir(tmp / "out.lycosa", tmp / "back"));
  const auto a = must(check_data_dir(tmp / "data")), b = must(check_data_dir(tmp / "back"));
  EXPECT_TRUE(b.ok);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_EQ(a.settled, b.settled);
  EXPECT_EQ(a.results, b.results);
  EXPECT_EQ(restore_data_dir(tmp / "out.lycosa", tmp / "back").error().code, errc::conflict);
  for (const auto& left : fs::directory_iterator(tmp.path()))
    EXPECT_EQ(left.path().string().find(".restoring"), std::string::npos);
}

TEST(maintenance, a_damaged_backup_restores_nothing) {
  scratch_dir tmp;
  fill(options_for(tmp / "data"), 500);
  must(backup_data_dir(tmp / "data", tmp / "out"));
  const auto size = fs::file_size(tmp / "out");
  fs::copy_file(tmp / "out", tmp / "cut");
  fs::resize_file(tmp / "cut", size / 2);
  EXPECT_EQ(restore_data_dir(tmp / "cut", tmp / "back").error().code, errc::corrupt);
  fs::copy_file(tmp / "out", tmp / "flipped");
  {
    std::fstream f(tmp / "flipped", std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(size / 2));
    const int c = f.get();
    f.seekp(static_cast<std::streamoff>(size / 2));
    f.put(static_cast<char>(c ^ 0x55));
  }
  EXPECT_EQ(restore_data_dir(tmp / "flipped", tmp / "back").error().code, errc::corrupt);
  EXPECT_FALSE(fs::exists(tmp / "back"));
}

} // namespace lycosa::storage::test
