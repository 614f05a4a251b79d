#include "storage/replica_store.hpp"

#include "storage/lmdb_catalog.hpp"
#include "storage/lmdb_shard.hpp"
#include "storage/replica_log.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

namespace lycosa::storage {

namespace {

/// Rows that a commit removes from the log's beginning at most, besides as many as it adds.
constexpr std::size_t trim_rows = 256;

class lmdb_replica final : public replica_store, private lmdb::commit_hook {
public:
  result<void> start(const replica_options& o) {
    auto tables = o.catalog ? catalog_tables() : shard_tables();
    tables_ = tables.size();
    tables.push_back("replica");
    auto opened = lmdb::env::open(
        {o.dir, o.dir, o.catalog ? catalog_map : o.map_size, o.sync || o.catalog, false, tables});
    if (!opened) return tl::unexpected(opened.error());
    env_ = std::move(*opened);
    if (auto ok = env_->open_tables(); !ok) return ok;
    auto txn = env_->read();
    if (!txn) return tl::unexpected(txn.error());
    auto state = replica_rows::get_state(txn->get(), table(), env_->name());
    if (!state) return tl::unexpected(state.error());
    if (*state) state_ = std::move(**state);
    return {};
  }

  result<cluster::shard_replica::found> found() override {
    auto txn = env_->read();
    if (!txn) return tl::unexpected(txn.error());
    auto state = replica_rows::get_state(txn->get(), table(), env_->name());
    if (!state) return tl::unexpected(state.error());
    state_ = *state ? std::move(**state) : replica_state{};
    auto log = replica_rows::load(txn->get(), table(), state_, env_->name());
    if (!log) return tl::unexpected(log.error());
    return cluster::shard_replica::found{std::move(*log), state_.end.lsn, state_.last_copy,
                                         state_.copying, 0};
  }

  result<void> adopt() override {
    return change([&](MDB_txn* txn, replica_state& next) {
      next = {};
      next.end = {0, 1};
      return replica_rows::clear(txn, table());
    });
  }

  result<void> forget() override {
    return change([&](MDB_txn* txn, replica_state& next) {
      next = {};
      return replica_rows::clear(txn, table());
    });
  }

  result<void> append(std::span<const batch> batches) override {
    return change([&](MDB_txn* txn, replica_state& next) {
      for (const auto& b : batches) {
        if (int rc = apply(txn, b.changes, 0); rc != 0) return rc;
        if (int rc = keep(txn, b.id, b.changes); rc != 0) return rc;
        next.append(b.id);
      }
      return 0;
    });
  }

  result<void> discard(const cluster::copy_progress& begun) override {
    return change([&](MDB_txn* txn, replica_state& next) {
      next = {};
      next.last_copy = begun.id;
      next.copying = begun;
      for (std::size_t t = 0; t < tables_; ++t)
        if (int rc = mdb_drop(txn, env_->table(t), 0); rc != 0) return rc;
      return replica_rows::clear(txn, table());
    });
  }

  result<void> write_chunk(std::string_view changes,
                           const std::vector<cluster::epoch_start>* whole) override {
    if (!state_.copying) return fail(errc::internal, env_->name(), "no copy is being made");
    return change([&](MDB_txn* txn, replica_state& next) {
      // In the order of the keys, into empty tables.
      if (int rc = apply(txn, changes, MDB_APPEND); rc != 0) return rc;
      ++next.copying->chunks;
      if (whole == nullptr) return 0;
      next.end = next.copying->at;
      next.history = *whole;
      next.copying.reset();
      return 0;
    });
  }

  void trim(cluster::lsn_number through) override { trim_ = std::max(trim_.load(), through); }

  void lead(commit_gate& gate) override {
    gate_ = &gate;
    env_->hook_commits(this);
  }
  void follow() override {
    env_->hook_commits(nullptr);
    gate_ = nullptr;
  }

  result<std::vector<batch_bytes>> read(cluster::lsn_number first, std::size_t limit) override {
    auto txn = env_->read();
    if (!txn) return tl::unexpected(txn.error());
    return replica_rows::read(txn->get(), table(), first, limit, env_->name());
  }

  result<std::unique_ptr<copy>> open_copy(std::size_t chunk_bytes) override {
    return cut_copy(*env_, tables_, table(), chunk_bytes);
  }

  [[nodiscard]] std::shared_ptr<lmdb::env> env() const override { return env_; }

private:
  [[nodiscard]] MDB_dbi table() const { return env_->table(tables_); }

  int keep(MDB_txn* txn, cluster::entry_id id, std::string_view changes) {
    if (int rc = replica_rows::append(txn, table(), id, changes); rc != 0) return rc;
    const auto rows = trim_rows + 2 * (changes.size() / 2016);
    return replica_rows::trim(txn, table(), std::min(trim_.load(), id.lsn - 1), rows);
  }

  /// Makes the changes of a batch, or of a piece of a copy.
  int apply(MDB_txn* txn, std::string_view changes, unsigned flags) {
    change_reader r(changes);
    while (r.next()) {
      if (r.table() >= tables_) return MDB_CORRUPTED;
      auto k = lmdb::val(r.key());
      auto v = lmdb::val(r.value());
      const auto dbi = env_->table(r.table());
      const int rc = r.erased() ? mdb_del(txn, dbi, &k, nullptr) : mdb_put(txn, dbi, &k, &v, flags);
      if (rc != 0) return rc; // also for a key that should be there: the replica is not the same
    }
    return r.whole() ? 0 : MDB_CORRUPTED;
  }

  result<void> change(const std::function<int(MDB_txn*, replica_state&)>& make) {
    auto txn = env_->begin_write();
    if (!txn) return tl::unexpected(txn.error());
    auto next = state_;
    int rc = make(*txn, next);
    if (rc == 0) rc = replica_rows::put_state(*txn, table(), next);
    if (rc != 0) {
      mdb_txn_abort(*txn);
      return lmdb::failed(rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc, env_->name());
    }
    if (rc = mdb_txn_commit(*txn); rc != 0) return lmdb::failed(rc, env_->name());
    state_ = std::move(next);
    return {};
  }

  // -- commits of the environment's own store ---

  result<void> before(MDB_txn* txn, change_set& changes) override {
    const auto bytes = std::make_shared<const std::string>(changes.take());
    auto id = gate_->begin(bytes);
    if (!id) return tl::unexpected(id.error());
    open_ = *id;
    next_ = state_;
    next_.append(*id);
    int rc = keep(txn, *id, *bytes);
    if (rc == 0) rc = replica_rows::put_state(txn, table(), next_);
    if (rc == 0) return {};
    gate_->written(*id, false);
    return lmdb::failed(rc, env_->name());
  }

  void written(bool ok) override {
    if (ok) state_ = std::move(next_);
    gate_->written(open_, ok);
  }

  result<void> settled() override { return gate_->settled(open_); }

  std::shared_ptr<lmdb::env> env_;
  std::size_t tables_ = 0; ///< but for `replica`, which is the one behind them
  replica_state state_, next_;
  std::atomic<cluster::lsn_number> trim_{0};
  commit_gate* gate_ = nullptr;
  cluster::entry_id open_;
};

} // namespace

result<std::unique_ptr<replica_store>> replica_store::open(const replica_options& options) {
  auto made = std::make_unique<lmdb_replica>();
  if (auto ok = made->start(options); !ok) return tl::unexpected(ok.error());
  return made;
}

} // namespace lycosa::storage
