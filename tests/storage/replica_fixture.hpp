#pragma once

#include "storage/lmdb_env.hpp"
#include "storage/replica_set.hpp"
#include "tests/storage/fixture.hpp"

#include <map>
#include <vector>

/// A directory that leads and one that follows it.
namespace lycosa::storage::test {

using content = std::map<std::pair<std::size_t, std::string>, std::string>;

/// Everything in the first `tables` tables of an environment.
inline content everything(lmdb::env& env, std::size_t tables) {
  content all;
  auto txn = must(env.read());
  for (std::size_t t = 0; t < tables; ++t) {
    lmdb::cursor c;
    EXPECT_EQ(c.open(txn.get(), env.table(t)), 0);
    MDB_val k{}, v{};
    for (int rc = c.seek(k, v, MDB_FIRST); rc == 0; rc = c.seek(k, v, MDB_NEXT))
      all[{t, std::string(lmdb::text(k))}] = lmdb::text(v);
  }
  return all;
}
constexpr std::size_t shard_table_count = 10, catalog_table_count = 4;

/// Takes every commit in, and gives each to a follower as soon as it is on disk.
class passing_gate : public commit_gate {
public:
  passing_gate(replica_store& leader, replica_store& follower)
      : follower_(follower), last_{1, must(leader.found()).log.end().lsn} {}

  result<cluster::entry_id> begin(batch_bytes changes) override {
    if (refuse) return fail(errc::unavailable, "shard", "not the leader");
    open_ = std::move(changes);
    return cluster::entry_id{last_.epoch, last_.lsn + 1};
  }
  void written(cluster::entry_id id, bool ok) override {
    if (!ok) return;
    last_ = id;
    const replica_store::batch b{id, *open_};
    bytes += open_->size();
    must(follower_.append({&b, 1}));
  }
  result<void> settled(cluster::entry_id) override {
    if (forget) return fail(errc::unavailable, "shard", "the leadership has ended");
    return {};
  }

  bool refuse = false;
  bool forget = false;
  std::size_t bytes = 0;

private:
  replica_store& follower_;
  cluster::entry_id last_;
  batch_bytes open_;
};

/// Copies the leader's environment onto the follower's, as a leader would have it done.
inline void copy_whole(replica_store& from, replica_store& to, std::size_t chunk_bytes = 4096) {
  auto view = must(from.open_copy(chunk_bytes));
  auto history = must(from.found()).log.history();
  must(to.discard({{1, 1}, view->at(), 0}));
  for (std::uint32_t i = 0; i < view->chunks(); ++i)
    must(to.write_chunk(must(view->chunk(i)), i + 1 == view->chunks() ? &history : nullptr));
}

/// A directory whose stores are led here, each with a follower.
class replicated_dir {
public:
  explicit replicated_dir(std::uint16_t shards = 1, std::size_t index_buffer = 1'000'000) {
    auto o = options_for(tmp_ / "leader", shards);
    must(open_data_dir(o)); // makes it
    leader = must(replica_set::open({tmp_ / "leader", shards, 256 << 20, true}));
    follower = must(replica_set::open({tmp_ / "follower", shards, 256 << 20, true}));
    for (std::size_t i = 0; i <= shards; ++i) {
      auto& l = i == shards ? leader->catalog() : leader->shard(i);
      auto& f = i == shards ? follower->catalog() : follower->shard(i);
      must(l.adopt());
      copy_whole(l, f);
      gates.push_back(std::make_unique<passing_gate>(l, f));
      l.lead(*gates.back());
    }
    o.replicas = leader;
    o.index_buffer = index_buffer;
    stores = must(open_data_dir(o));
  }
  ~replicated_dir() { stores.reset(); }

  void expect_equal() {
    for (std::size_t i = 0; i < leader->shards(); ++i)
      EXPECT_EQ(everything(*leader->shard(i).env(), shard_table_count),
                everything(*follower->shard(i).env(), shard_table_count));
    EXPECT_EQ(everything(*leader->catalog().env(), catalog_table_count),
              everything(*follower->catalog().env(), catalog_table_count));
  }

private:
  scratch_dir tmp_;

public:
  std::shared_ptr<replica_set> leader, follower;
  std::vector<std::unique_ptr<passing_gate>> gates;
  std::unique_ptr<data_dir> stores;
};

} // namespace lycosa::storage::test
