#pragma once

#include "core/placement.hpp"
#include "storage/open.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

namespace lycosa::storage::test {

/// A directory that goes with the test.
class scratch_dir {
public:
  scratch_dir() {
    std::string name = ::testing::TempDir() + "lycosa-storage-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~scratch_dir() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  scratch_dir(const scratch_dir&) = delete;
  scratch_dir& operator=(const scratch_dir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

inline open_options options_for(const std::string& dir, std::uint16_t shards = 1) {
  open_options o;
  o.dir = dir;
  o.shards = shards;
  o.map_size = 256 << 20;
  o.reserve_bytes = 1 << 20;
  return o;
}

inline wall_time at(std::int64_t us) {
  return wall_time{usec{us}};
}

inline task_ref named(std::string_view taskid, std::uint32_t project = 1) {
  return {project_id{project}, hash_task("project" + std::to_string(project), taskid)};
}

/// A task with every field set. Its strings must outlive it.
inline task sample(std::string_view taskid) {
  task t;
  t.taskid = taskid;
  t.url = "http://example.org/page";
  t.sched.priority = 7;
  t.sched.retries = 2;
  t.sched.retried = 1;
  t.sched.exetime = at(1'700'000'000'000'001);
  t.sched.age = std::chrono::hours{5};
  t.sched.itag = "v1";
  t.sched.force_update = true;
  t.sched.auto_recrawl = true;
  t.sched.cancel = true;
  t.sched.extra = R"("x":1,"y":"z")";
  t.fetch = R"({"method":"GET"})";
  t.process = R"({"callback":"index_page"})";
  t.track = R"({"fetch":{"ok":true}})";
  t.lastcrawltime = at(1'600'000'000'000'002);
  t.updatetime = at(1'650'000'000'000'003);
  t.generation = 9;
  return t;
}

inline void expect_same(const task& a, const task& b) {
  EXPECT_EQ(a.taskid, b.taskid);
  EXPECT_EQ(a.url, b.url);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.sched.priority, b.sched.priority);
  EXPECT_EQ(a.sched.retries, b.sched.retries);
  EXPECT_EQ(a.sched.retried, b.sched.retried);
  EXPECT_EQ(a.sched.exetime, b.sched.exetime);
  EXPECT_EQ(a.sched.age, b.sched.age);
  EXPECT_EQ(a.sched.itag, b.sched.itag);
  EXPECT_EQ(a.sched.force_update, b.sched.force_update);
  EXPECT_EQ(a.sched.auto_recrawl, b.sched.auto_recrawl);
  EXPECT_EQ(a.sched.cancel, b.sched.cancel);
  EXPECT_EQ(a.sched.extra, b.sched.extra);
  EXPECT_EQ(a.fetch, b.fetch);
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.track, b.track);
  EXPECT_EQ(a.lastcrawltime, b.lastcrawltime);
  EXPECT_EQ(a.updatetime, b.updatetime);
  EXPECT_EQ(a.generation, b.generation);
}

/// The value, or a test failure with the error's text.
template <class T>
T must(result<T> r) {
  if (!r) throw std::runtime_error(r.error().text());
  return std::move(*r);
}
inline void must(result<void> r) {
  if (!r) throw std::runtime_error(r.error().text());
}

/// Inserts one task of its own commit.
inline result<task_key> insert_one(shard_store& s, std::string_view taskid,
                                   std::uint32_t project = 1, queue_position p = {}) {
  auto txn = s.begin();
  if (!txn) return tl::unexpected(txn.error());
  task t;
  t.taskid = taskid;
  t.url = "http://example.org/";
  auto key = (*txn)->insert(named(taskid, project), t, p);
  if (!key) return key;
  if (auto done = (*txn)->commit(commit_class::growth); !done) return tl::unexpected(done.error());
  return key;
}

} // namespace lycosa::storage::test
