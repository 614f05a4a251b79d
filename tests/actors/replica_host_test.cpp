#include "actors/replica_host.hpp"
#include "storage/change_set.hpp"
#include "storage/open.hpp"
#include "storage/replica_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

/// Replicas with real disks and threads, one environment on several nodes; the coordination store
/// and the network are in memory.
namespace lycosa::actors {

namespace {

using namespace cluster;
using namespace std::chrono_literals;

template <class T>
T must(result<T> r) {
  if (!r) throw std::runtime_error(r.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

replication_limits quick() {
  replication_limits l;
  l.heartbeat = 20ms;
  l.resend_after = 60ms;
  l.slow_after = 2s;
  l.propose_retry = 50ms;
  l.election_wait = 20ms;
  return l;
}

node_id id_of(std::size_t i) {
  return node_id{i + 1};
}

class replicas : public ::testing::Test {
protected:
  struct node {
    std::string dir;
    std::shared_ptr<storage::replica_set> set;
    std::unique_ptr<replica_host> host;
    std::unique_ptr<storage::data_dir> stores;
    session_id session = session_id::none;
    bool cut = false; ///< nothing reaches it, nothing leaves it
  };

  replicas() {
    std::string name = ::testing::TempDir() + "lycosa-replicas-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    nodes_.resize(3);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      nodes_[i].dir = root_ + "/n" + std::to_string(i);
    storage::open_options o;
    o.dir = nodes_[0].dir;
    o.shards = 1;
    o.map_size = 256 << 20;
    must(storage::open_data_dir(o));
    auto found = must(storage::replica_set::open({nodes_[0].dir, 1, 256 << 20, true}));
    must(found->shard(0).adopt());
    must(found->catalog().adopt());
    record_ = found_shard(id_of(0), {id_of(0), id_of(1), id_of(2)}, 1);
    record_.version = 1;
  }
  ~replicas() override {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      stop(i);
    std::error_code ec;
    std::filesystem::remove_all(root_, ec);
  }

  void start(std::size_t i) {
    auto& n = nodes_[i];
    n.set = must(storage::replica_set::open({n.dir, 1, 256 << 20, true}));
    replica_config c;
    c.name = "n" + std::to_string(i);
    c.self = id_of(i);
    c.limits = quick();
    c.copy_chunk = 4096;
    n.host = must(replica_host::start(
        c, n.set->shard(0), time_,
        {[this, i](node_id to, std::string m) { send(i, to, std::move(m)); },
         [this](shard_record next, session_id ended) { propose(std::move(next), ended); },
         [this] { changed_.notify_all(); }}));
    const std::lock_guard lock(mutex_);
    n.session = session_id{++sessions_};
    tell();
  }

  /// The process is gone; its session ends when the store notices.
  void stop(std::size_t i) {
    std::unique_ptr<replica_host> host;
    {
      const std::lock_guard lock(mutex_);
      nodes_[i].session = session_id::none;
      host = std::move(nodes_[i].host);
    }
    nodes_[i].stores.reset();
    host.reset();
    nodes_[i].set.reset();
    const std::lock_guard lock(mutex_);
    tell();
  }

  void cut_off(std::size_t i, bool cut) {
    const std::lock_guard lock(mutex_);
    nodes_[i].cut = cut;
  }
  void end_session(std::size_t i) {
    const std::lock_guard lock(mutex_);
    nodes_[i].session = session_id::none;
    if (nodes_[i].host) nodes_[i].host->session_ended();
    tell();
  }
  void begin_session(std::size_t i) {
    const std::lock_guard lock(mutex_);
    nodes_[i].session = session_id{++sessions_};
    tell();
  }

  template <class Condition>
  void until(const char* what, Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
      std::mutex m;
      std::unique_lock lock(m);
      changed_.wait_for(lock, 5ms);
    }
  }
  std::optional<std::size_t> leader() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].host && nodes_[i].host->serves()) return i;
    return std::nullopt;
  }
  std::size_t await_leader(std::size_t other_than = 99) {
    until("a leader", [&] { return leader() && *leader() != other_than; });
    return *leader();
  }
  void await_in_sync(std::size_t count) {
    until("members in sync", [&] {
      const std::lock_guard lock(mutex_);
      return record_.in_sync.size() == count;
    });
  }

  /// The leader's stores: of the shard alone, since the catalog is not replicated here.
  storage::commit_gate& gate(std::size_t i) { return *nodes_[i].host; }

  /// A commit as the environment's store makes it: begin, write, settle.
  result<entry_id> commit(std::size_t i, std::string key, std::string value) {
    storage::change_set changes;
    changes.put(1, key, value);
    const auto bytes = std::make_shared<const std::string>(changes.take());
    auto& g = gate(i);
    auto id = g.begin(bytes);
    if (!id) return id;
    const storage::replica_store::batch b{*id, *bytes};
    const auto ok = nodes_[i].set->shard(0).append({&b, 1});
    g.written(*id, ok.has_value());
    if (auto done = g.settled(*id); !done) return tl::unexpected(done.error());
    return id;
  }

  std::string content(std::size_t i) {
    auto view = must(nodes_[i].set->shard(0).open_copy(1 << 30));
    return must(view->chunk(0));
  }
  void expect_same_content() {
    const auto end = [&](std::size_t i) { return nodes_[i].host->status().end; };
    until("the same end", [&] { return end(0) == end(1) && end(1) == end(2); });
    EXPECT_EQ(content(0), content(1));
    EXPECT_EQ(content(1), content(2));
  }

  std::vector<node> nodes_;
  shard_record record_;
  std::mutex mutex_;

private:
  void send(std::size_t from, node_id to, std::string bytes) {
    const std::lock_guard lock(mutex_);
    auto& n = nodes_[static_cast<std::size_t>(to) - 1];
    if (nodes_[from].cut || n.cut || !n.host) return;
    n.host->receive(id_of(from), must(storage::decode_replica_message(bytes)));
  }
  void propose(shard_record next, session_id ended) {
    const std::lock_guard lock(mutex_);
    if (next.version != record_.version) return;
    for (const auto& n : nodes_)
      if (ended != session_id::none && n.session == ended) return;
    record_ = std::move(next);
    ++record_.version;
    tell();
  }
  void tell() {
    std::map<node_id, session_id> members;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].session != session_id::none) members[id_of(i)] = nodes_[i].session;
    for (auto& n : nodes_)
      if (n.host) {
        if (n.session != session_id::none)
          n.host->session_seen(n.session, time_->now().mono + std::chrono::hours{1});
        n.host->members_seen(members);
        n.host->record_seen(record_);
      }
    changed_.notify_all();
  }

  std::string root_;
  std::uint64_t sessions_ = 0;
  clock_ptr time_ = make_system_clock();
  std::condition_variable changed_;
};

} // namespace

TEST_F(replicas, followers_are_copied_and_then_kept_up) {
  start(0);
  ASSERT_EQ(await_leader(), 0u);
  for (int i = 0; i < 50; ++i)
    must(commit(0, "before" + std::to_string(100 + i), std::string(300, 'x')));
  start(1);
  start(2);
  await_in_sync(3);
  for (int i = 0; i < 50; ++i)
    must(commit(0, "later" + std::to_string(100 + i), "y"));
  expect_same_content();
}

TEST_F(replicas, what_was_acknowledged_is_there_after_the_leader_is_gone) {
  for (std::size_t i = 0; i < 3; ++i)
    start(i);
  await_leader();
  await_in_sync(3);
  must(commit(0, "a", "1"));
  stop(0);
  const auto second = await_leader(0);
  EXPECT_NE(content(second).find("a"), std::string::npos);
  must(commit(second, "b", "2"));
  start(0);
  await_in_sync(3);
  until("the first one leads again", [&] { return leader() == std::optional<std::size_t>{0}; });
  must(commit(0, "c", "3"));
  expect_same_content();
}

TEST_F(replicas, a_leader_that_is_cut_off_acknowledges_nothing) {
  for (std::size_t i = 0; i < 3; ++i)
    start(i);
  await_leader();
  await_in_sync(3);
  must(commit(0, "a", "1"));
  cut_off(0, true);
  result<entry_id> outcome = entry_id{};
  const auto before = nodes_[0].host->status().end;
  std::thread writer([&] { outcome = commit(0, "lost", "2"); });
  until("the write to be under way", [&] { return nodes_[0].host->status().end > before; });
  end_session(0);
  const auto second = await_leader(0);
  writer.join();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::unavailable);
  EXPECT_FALSE(commit(0, "refused", "3"));
  must(commit(second, "b", "4"));
  EXPECT_EQ(content(second).find("lost"), std::string::npos);
  // What it wrote alone goes when it comes back.
  nodes_[0].host->detach();
  cut_off(0, false);
  begin_session(0);
  await_in_sync(3);
  expect_same_content();
  EXPECT_EQ(content(0).find("lost"), std::string::npos);
}

TEST_F(replicas, a_write_that_too_few_can_keep_is_refused_in_the_end) {
  record_.min_in_sync = 1;
  for (std::size_t i = 0; i < 2; ++i)
    start(i);
  await_leader();
  await_in_sync(2);
  {
    const std::lock_guard lock(mutex_);
    record_.min_in_sync = 2;
    ++record_.version;
    nodes_[0].host->record_seen(record_);
    nodes_[1].host->record_seen(record_);
  }
  stop(1);
  const auto outcome = commit(0, "waits", "1");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::unavailable);
  // It leads again, in another epoch, but serves nobody until there are enough.
  nodes_[0].host->detach();
  until("another epoch", [&] { return nodes_[0].host->status().end.epoch > 1; });
  EXPECT_FALSE(nodes_[0].host->serves());
  start(1);
  until("a leader with enough copies", [&] { return leader().has_value(); });
  must(commit(*leader(), "goes", "2"));
}

TEST_F(replicas, a_store_that_is_open_is_not_written_to_by_a_new_leader) {
  for (std::size_t i = 0; i < 3; ++i)
    start(i);
  await_leader();
  await_in_sync(3);
  nodes_[0].host->attach();
  must(commit(0, "a", "1"));
  end_session(0);
  const auto second = await_leader(0);
  begin_session(0);
  const auto before = content(0);
  must(commit(second, "b", "2"));
  for (int i = 0; i < 20; ++i)
    must(commit(second, "c" + std::to_string(i), "2"));
  EXPECT_EQ(content(0), before);
  nodes_[0].host->detach();
  await_in_sync(3);
  until("the first one has caught up", [&] { return content(0) == content(second); });
}

TEST_F(replicas, a_follower_goes_on_where_it_was_after_a_restart) {
  for (std::size_t i = 0; i < 3; ++i)
    start(i);
  await_leader();
  await_in_sync(3);
  stop(1);
  for (int i = 0; i < 30; ++i)
    must(commit(0, "while away" + std::to_string(i), "1"));
  const auto copies = nodes_[0].set->shard(0).found()->last_copy;
  start(1);
  await_in_sync(3);
  must(commit(0, "z", "1"));
  expect_same_content();
  EXPECT_EQ(nodes_[0].set->shard(0).found()->last_copy, copies);
}

} // namespace lycosa::actors
