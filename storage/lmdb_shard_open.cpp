#include "storage/index_log.hpp"
#include "storage/keys.hpp"
#include "storage/lmdb_shard.hpp"

#include <algorithm>
#include <mutex>

/// How a shard is opened, and what its writer remembers of the file.
namespace lycosa::storage {

void lmdb_shard::state::write(std::byte* at) const {
  put_little(at, lsn);
  put_little(at + 8, next_seq);
  put_little(at + 16, log_bytes);
  put_little(at + 24, index_from);
}

result<lmdb_shard::state> lmdb_shard::read_state(MDB_txn* txn) const {
  auto k = lmdb::val(state::key);
  MDB_val v{};
  const int rc = mdb_get(txn, env_->table(meta), &k, &v);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
  if (rc != 0 || (v.mv_size != state::bytes && v.mv_size != state::bytes_of_format_4))
    return fail(errc::corrupt, std::string(name()), "its counters are missing");
  const auto* b = static_cast<const std::byte*>(v.mv_data);
  state s{get_little<std::uint64_t>(b), get_little<std::uint64_t>(b + 8),
          get_little<std::uint64_t>(b + 16), 0};
  // Up to format 4 nothing ever waited.
  s.index_from = v.mv_size == state::bytes ? get_little<std::uint64_t>(b + 24) : s.lsn + 1;
  return s;
}

result<void> lmdb_shard::read_waiting(MDB_txn* txn, index_buffer& into) const {
  auto s = read_state(txn);
  if (!s) return tl::unexpected(s.error());
  auto next = replay_index(txn, env_->table(log), name(), s->index_from, s->lsn, into);
  if (!next) return tl::unexpected(next.error());
  return {};
}

result<void> lmdb_shard::load_state(MDB_txn* txn) {
  auto s = read_state(txn);
  if (!s) return tl::unexpected(s.error());
  index_buffer waiting;
  auto next = replay_index(txn, env_->table(log), name(), s->index_from, s->lsn, waiting);
  if (!next) return tl::unexpected(next.error());
  auto orders = read_orders(txn);
  if (!orders) return tl::unexpected(orders.error());
  // The round goes on where it was. From the first slice anew, runs that are shorter than a round
  // would never come to the last, and the log would grow with each.
  pace_ = {*next, 0};
  orders_ = std::move(*orders);
  const std::unique_lock lock(waiting_mutex_);
  waiting_ = std::move(waiting);
  state_ = *s;
  last_lsn_ = state_.lsn;
  generation_ = env_->generation();
  return {};
}

merge_limits lmdb_shard::limits(MDB_txn* txn) const {
  // Memory for what waits grows with the table, since so does the number of its pages: a 16th of
  // the entries is about four bytes a task.
  constexpr std::size_t least = 16384, logged = 88;
  MDB_stat stat{};
  if (mdb_stat(txn, env_->table(hashes), &stat) != 0) return {};
  merge_limits l;
  // The log that it needs may not eat the part of the map that is kept for finishing work.
  l.target = std::min({std::max<std::size_t>(stat.ms_entries / 16, least), options_.index_buffer,
                       static_cast<std::size_t>(options_.map_size / 64 / logged)});
  l.target = std::max<std::size_t>(l.target, 1);
  return l;
}

std::vector<const char*> shard_tables() {
  return {"meta",    "tasks",  "hashes", "active", "settled",
          "results", "counts", "log",    "queue",  "ordering"};
}

result<std::unique_ptr<lmdb_shard>> lmdb_shard::open(lmdb_shard_options options,
                                                     std::shared_ptr<disk_reserve> disk) {
  std::unique_ptr<lmdb_shard> s(new lmdb_shard(std::move(options), std::move(disk)));
  if (auto ok = s->start(); !ok) return tl::unexpected(ok.error());
  return s;
}

result<void> lmdb_shard::start() {
  const bool shared = options_.env != nullptr;
  if (shared) {
    env_ = options_.env;
  } else {
    auto opened = lmdb::env::open({options_.dir, options_.dir, options_.map_size, options_.sync,
                                   options_.read_only, shard_tables()});
    if (!opened) return tl::unexpected(opened.error());
    env_ = std::move(*opened);
  }
  if (!options_.create) {
    auto stored = read_identity(*env_);
    if (!stored) return tl::unexpected(stored.error());
    if (stored->kind != env_kind::shard || stored->shard != id_.shard
        || stored->shards != id_.shards || stored->directory != id_.directory)
      return fail(errc::incompatible, std::string(name()),
                  "it is shard " + std::to_string(stored->shard) + " of "
                      + std::to_string(stored->shards) + " of "
                      + (stored->directory == id_.directory ? "this" : "another")
                      + " data directory, not shard " + std::to_string(id_.shard) + " of "
                      + std::to_string(id_.shards));
    // The shard's own: a crash may have left a directory with some of its files converted.
    id_.format = stored->format;
    id_.epoch = stored->epoch;
  }
  const bool older = !options_.create && id_.format < format_of_hashes;
  old_index_ = older && options_.read_only;
  if (old_index_) env_->name_table(hashes, "index");
  has_queue_ = options_.create || !options_.read_only || id_.format >= format_of_queue;
  if (!has_queue_) env_->omit_tables_from(queue);
  if (shared && older)
    return fail(errc::incompatible, std::string(name()),
                "of an older format: open it once outside the cluster, which converts it");
  if (!shared)
    if (auto ok = env_->open_tables(); !ok) return ok;
  if (options_.read_only) {
    auto txn = env_->read();
    if (!txn) return tl::unexpected(txn.error());
    // What waits is read by whoever needs it, in a snapshot of its own.
    auto s = read_state(txn->get());
    if (!s) return tl::unexpected(s.error());
    state_ = *s;
    last_lsn_ = state_.lsn;
    return {};
  }
  if (older)
    if (auto ok = copy_old_index(*env_, env_->table(hashes)); !ok) return ok;
  auto txn = env_->begin_write();
  if (!txn) return tl::unexpected(txn.error());
  const auto give_up = [&](error e) -> result<void> {
    mdb_txn_abort(*txn);
    return tl::unexpected(std::move(e));
  };
  if (options_.create) {
    std::array<std::byte, state::bytes> b;
    state_.write(b.data());
    if (int rc = env_->put(*txn, meta, lmdb::val(state::key), lmdb::val(b)); rc != 0)
      return give_up(lmdb::to_error(rc, name()));
  } else {
    if (auto ok = load_state(*txn); !ok) return give_up(ok.error());
    if (older)
      if (int rc = drop_old_index(*txn); rc != 0) return give_up(lmdb::to_error(rc, name()));
    // The whole identity: what is written from now on is of this version's format.
    ++id_.epoch;
    id_.format = format_version;
  }
  if (auto ok = write_identity(*env_, *txn, id_); !ok) return give_up(ok.error());
  const auto rc = env_->commit(*txn);
  if (!rc) return tl::unexpected(rc.error());
  if (*rc != 0) return lmdb::failed(*rc, name());
  if (auto ok = env_->settled(); !ok) return ok;
  last_lsn_ = state_.lsn;
  return {};
}

} // namespace lycosa::storage
