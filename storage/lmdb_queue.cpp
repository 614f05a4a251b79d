#include "storage/lmdb_txn.hpp"

#include <cstring>

/// The queues of projects that keep them in order on disk: table `queue`, and `ordering`, which
/// says for whom it is kept. An entry follows from the one of `active`; both change in one commit.
namespace lycosa::storage {

namespace {

bool has_prefix(const MDB_val& key, std::span<const std::byte> prefix) {
  return key.mv_size >= prefix.size()
         && std::memcmp(key.mv_data, prefix.data(), prefix.size()) == 0;
}

constexpr std::size_t priority_prefix = 8; // of a key: project, priority

} // namespace

// -- reads -------------------------------------------------------------------------------------

result<order_rows> lmdb_shard::read_orders(MDB_txn* txn) const {
  order_rows rows;
  if (!has_queue_) return rows;
  lmdb::cursor c;
  if (int rc = c.open(txn, env_->table(ordering)); rc != 0) return lmdb::failed(rc, name());
  MDB_val k{}, v{};
  int rc = c.seek(k, v, MDB_FIRST);
  for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
    const auto row = order_row::read(lmdb::bytes(v));
    if (k.mv_size != 4 || !row)
      return fail(errc::corrupt, std::string(name()), "an entry of ordering cannot be read");
    rows.emplace(project_id{get_big<std::uint32_t>(k.mv_data)}, *row);
  }
  if (rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
  return rows;
}

/// By the snapshot, not by what the writer remembers: that is of another commit.
result<order_state> lmdb_shard::order_in(MDB_txn* txn, project_id project) const {
  const auto key = project_key(project);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = has_queue_ ? mdb_get(txn, env_->table(ordering), &k, &v) : MDB_NOTFOUND;
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
  const auto row = rc == 0 ? order_row::read(lmdb::bytes(v)) : std::nullopt;
  if (rc == 0 && !row)
    return fail(errc::corrupt, std::string(name()), "an entry of ordering cannot be read");
  if (!row) return order_state::none;
  return row->state == order_row::phase::complete ? order_state::complete : order_state::partly;
}

/// Of a project whose queue is in order, else the error that says so.
result<void> lmdb_shard::open_queue(MDB_txn* txn, project_id project, lmdb::cursor& c) const {
  auto state = order_in(txn, project);
  if (!state) return tl::unexpected(state.error());
  if (*state != order_state::complete) return not_in_order(project);
  if (int rc = c.open(txn, env_->table(queue)); rc != 0) return lmdb::failed(rc, name());
  return {};
}

result<order_state> lmdb_shard::order_of(project_id project) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  return order_in(txn->get(), project);
}

result<std::vector<active_entry>>
lmdb_shard::queue_heads(project_id project, std::optional<std::int32_t> below, std::size_t limit) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (auto ok = open_queue(txn->get(), project, c); !ok) return tl::unexpected(ok.error());
  std::vector<active_entry> out;
  const auto prefix = project_key(project);
  while (out.size() < limit) {
    const auto from = queue_key_below(project, below);
    if (!from) break;
    auto k = lmdb::val(*from);
    MDB_val v{};
    const int rc = c.seek(k, v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND || (rc == 0 && !has_prefix(k, prefix))) break;
    if (rc != 0) return lmdb::failed(rc, name());
    if (k.mv_size != from->size()) return lmdb::failed(MDB_CORRUPTED, name());
    out.push_back(queue_entry_of(k.mv_data, id_.shard));
    below = out.back().position.priority;
  }
  return out;
}

result<std::vector<active_entry>>
lmdb_shard::scan_queue(project_id project, const active_entry& from, std::size_t limit) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (auto ok = open_queue(txn->get(), project, c); !ok) return tl::unexpected(ok.error());
  std::vector<active_entry> out;
  const auto first = queue_key(project, from.position, from.key.seq());
  const auto prefix = std::span(first).first(priority_prefix);
  auto k = lmdb::val(first);
  MDB_val v{};
  int rc = out.size() < limit ? c.seek(k, v, MDB_SET_RANGE) : MDB_NOTFOUND;
  for (; rc == 0 && has_prefix(k, prefix); rc = c.seek(k, v, MDB_NEXT)) {
    if (k.mv_size != first.size()) return lmdb::failed(MDB_CORRUPTED, name());
    out.push_back(queue_entry_of(k.mv_data, id_.shard));
    if (out.size() == limit) return out;
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
  return out;
}

// -- what becomes of single tasks --------------------------------------------------------------

/// Null = not kept in order, as for most projects.
const order_row* lmdb_txn::order_of(project_id project) const {
  const auto& rows = orders_ ? *orders_ : store_.orders_;
  if (rows.empty()) return nullptr;
  const auto row = rows.find(project);
  return row == rows.end() ? nullptr : &row->second;
}

/// Before `active` changes: what it says is where the task has stood.
int lmdb_txn::enter_queue(project_id project, std::uint64_t seq, const queue_position& p) {
  const auto* row = order_of(project);
  if (row == nullptr) return 0;
  const auto key = queue_key(project, p, seq);
  const auto stood = active_key(project, seq);
  auto k = lmdb::val(stood);
  MDB_val v{};
  const int found = cursors_[table::active].seek(k, v, MDB_SET);
  if (found != 0 && found != MDB_NOTFOUND) return found;
  if (found == 0)
    if (int rc = leave_queue(project, seq, v, &key); rc != 0) return rc;
  if (!row->follows()) return 0;
  new_bytes_ += key.size() + 16;
  ++old_pages_;
  const int rc = put(table::queue, key, 0, MDB_NOOVERWRITE, [](std::byte*) {});
  return rc == MDB_KEYEXIST ? 0 : rc;
}

/// Before `active` changes; `place` is its value. While the order is being removed too: no entry is
/// ever there for a task that is not. One that is missing stops nobody: it has not been taken in
/// yet, or `check` will tell.
int lmdb_txn::leave_queue(project_id project, std::uint64_t seq, const MDB_val& place,
                          const key_bytes<32>* unless) {
  if (order_of(project) == nullptr || place.mv_size != active_value::bytes) return 0;
  const auto key = queue_key(project, active_value::read(place.mv_data), seq);
  if (unless != nullptr && key == *unless) return 0;
  ++old_pages_;
  const int rc = erase(table::queue, key);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

// -- whole projects ----------------------------------------------------------------------------

/// Takes in ACTIVE tasks, the newest first.
int lmdb_txn::take_in(project_id project, order_row& row, std::size_t limit, std::size_t& looked) {
  const auto end = active_key(project, row.from);
  const auto prefix = project_key(project);
  const auto& c = cursors_[table::active];
  auto k = lmdb::val(end);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  for (rc = c.seek(k, v, rc == 0 ? MDB_PREV : MDB_LAST);; rc = c.seek(k, v, MDB_PREV)) {
    if (rc == MDB_NOTFOUND || (rc == 0 && !has_prefix(k, prefix))) {
      row = {order_row::phase::complete, 0};
      return 0;
    }
    if (rc != 0) return rc;
    if (looked >= limit) return 0;
    if (k.mv_size != end.size() || v.mv_size != active_value::bytes) return MDB_CORRUPTED;
    const auto seq = get_big<std::uint64_t>(static_cast<const std::byte*>(k.mv_data) + 4);
    const auto key = queue_key(project, active_value::read(v.mv_data), seq);
    // It is there if it has been placed anew since the building began.
    const int done = put(table::queue, key, 0, MDB_NOOVERWRITE, [](std::byte*) {});
    if (done != 0 && done != MDB_KEYEXIST) return done;
    row.from = seq;
    new_bytes_ += key.size() + 16;
    ++old_pages_;
    ++looked;
  }
}

/// Removes up to `limit` entries from the front; `empty` when there are no more.
int lmdb_txn::drop_queue(project_id project, std::size_t limit, std::size_t& looked, bool& empty) {
  const auto prefix = project_key(project);
  for (;; ++looked) {
    auto k = lmdb::val(prefix);
    MDB_val v{};
    const int rc = cursors_[table::queue].seek(k, v, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND) return rc;
    empty = rc == MDB_NOTFOUND || !has_prefix(k, prefix);
    if (empty || looked >= limit) return 0;
    if (int gone = erase_current(table::queue); gone != 0) return gone;
    ++old_pages_;
  }
}

/// None = no longer kept in order.
int lmdb_txn::write_order(project_id project, const std::optional<order_row>& row) {
  changed_ = true;
  if (!orders_) orders_ = store_.orders_;
  if (!row) {
    orders_->erase(project);
    return erase(table::ordering, project_key(project));
  }
  orders_->insert_or_assign(project, *row);
  return put(table::ordering, project_key(project), order_row::bytes, 0,
             [&](std::byte* at) { row->write(at); });
}

result<order_step> lmdb_txn::keep_in_order(project_id project, bool wanted, std::size_t limit) {
  using phase = order_row::phase;
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  const auto* is = order_of(project);
  if (is == nullptr ? !wanted : wanted && is->state == phase::complete) return order_step{true, 0};
  std::optional<order_row> row;
  order_step step;
  if (wanted) {
    row = is != nullptr && is->follows() ? *is : order_row{phase::building, state_.next_seq};
    if (int rc = take_in(project, *row, limit, step.looked); rc != 0) return failure(rc);
    step.done = row->state == phase::complete;
  } else {
    if (int rc = drop_queue(project, limit, step.looked, step.done); rc != 0) return failure(rc);
    if (!step.done) row = order_row{phase::removing, 0};
  }
  if (int rc = write_order(project, row); rc != 0) return failure(rc);
  return step;
}

} // namespace lycosa::storage
