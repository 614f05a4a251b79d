#include "storage/lmdb_txn.hpp"

#include <algorithm>
#include <cstring>

/// What a transaction removes: tasks of a project that goes, and settled ones that are not kept.
namespace lycosa::storage {

/// Looks at a record; none = it is not there, or cannot be read. The cursor stays on it.
int lmdb_txn::look_at_record(std::uint64_t seq, bool& there, std::optional<task_brief>& brief) {
  const auto bytes = seq_key(seq);
  auto k = lmdb::val(bytes);
  MDB_val v{};
  const int rc = cursors_[table::tasks].seek(k, v, MDB_SET);
  there = rc == 0;
  brief = there ? decode_brief(lmdb::bytes(v)) : std::nullopt;
  return rc == MDB_NOTFOUND ? 0 : rc;
}

/// Removes the record that the cursor is on and its index entry; the caller removes it from the
/// listing it stood in.
int lmdb_txn::erase_record(std::uint64_t seq, task_status status, const task_brief& brief) {
  auto& m = mutations_.emplace_back();
  m.what = mutation::kind::erase;
  m.ref = brief.ref;
  m.seq = seq;
  m.status = status;
  m.old_status = static_cast<std::uint8_t>(status);
  fresh_.insert_or_assign(brief.ref, index_change{{seq, 0, 0, 0, status}, true});
  return erase_current(table::tasks);
}

/// Of a project that goes. Whatever is missing is gone already; removal must get through an
/// inconsistent project.
int lmdb_txn::erase_task(std::uint64_t seq, task_status status, project_id project) {
  --count_of(delta(project), status);
  bool there = false;
  std::optional<task_brief> brief;
  if (int rc = look_at_record(seq, there, brief); rc != 0 || !there) return rc;
  if (brief && brief->ref.project == project) return erase_record(seq, status, *brief);
  return erase_current(table::tasks);
}

/// Removes the entries that nothing points to any more.
int lmdb_txn::sweep(table t, project_id project) {
  const auto prefix = project_key(project);
  for (;;) {
    auto k = lmdb::val(prefix);
    MDB_val v{};
    const int rc = cursors_[t].seek(k, v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) return 0;
    if (rc != 0) return rc;
    if (k.mv_size < prefix.size() || std::memcmp(k.mv_data, prefix.data(), prefix.size()) != 0)
      return 0;
    if (int gone = erase_current(t); gone != 0) return gone;
  }
}

/// By the listings, not by the index: records lie in their order, names in none.
result<std::size_t> lmdb_txn::erase_listed(table t, project_id project, std::size_t limit) {
  const auto prefix = project_key(project);
  const bool queued = t == table::active;
  std::size_t erased = 0;
  for (; erased < limit; ++erased) {
    auto k = lmdb::val(prefix);
    MDB_val v{};
    const int rc = cursors_[t].seek(k, v, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND) return failure(rc);
    if (rc == MDB_NOTFOUND || k.mv_size != (queued ? 12 : 13)
        || std::memcmp(k.mv_data, prefix.data(), prefix.size()) != 0)
      break;
    const auto* key = static_cast<const std::byte*>(k.mv_data);
    const auto status = queued ? task_status::active : static_cast<task_status>(key[4]);
    const auto seq = get_big<std::uint64_t>(key + (queued ? 4 : 5));
    if (queued)
      if (int gone = leave_queue(project, seq, v); gone != 0) return failure(gone);
    if (int gone = erase_current(t); gone != 0) return failure(gone);
    if (int gone = erase_task(seq, status, project); gone != 0) return failure(gone);
  }
  changed_ = changed_ || erased > 0;
  return erased;
}

result<std::size_t> lmdb_txn::erase_results(project_id project, std::size_t limit) {
  const auto prefix = project_key(project);
  std::size_t erased = 0;
  for (; erased < limit; ++erased) {
    auto k = lmdb::val(prefix);
    MDB_val v{};
    const int rc = cursors_[table::results].seek(k, v, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND) return failure(rc);
    if (rc == MDB_NOTFOUND || k.mv_size != 20
        || std::memcmp(k.mv_data, prefix.data(), prefix.size()) != 0)
      break;
    auto& m = mutations_.emplace_back();
    m.what = mutation::kind::erase_result;
    m.ref = ref_of(k.mv_data);
    if (int gone = erase_current(table::results); gone != 0)
      return failure(gone);
  }
  return erased;
}

result<std::size_t> lmdb_txn::erase_some(project_id project, std::size_t limit) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  std::size_t erased = 0;
  for (auto t : {table::active, table::settled, table::results}) {
    auto n = t == table::results ? erase_results(project, limit - erased)
                                 : erase_listed(t, project, limit - erased);
    if (!n) return n;
    erased += *n;
  }
  old_pages_ += 3 * erased;
  if (erased == limit) return erased;
  for (auto t : {table::active, table::settled, table::counts_, table::queue})
    if (int rc = sweep(t, project); rc != 0) return failure(rc);
  if (order_of(project) != nullptr)
    if (int rc = write_order(project, std::nullopt); rc != 0) return failure(rc);
  deltas_.erase(project);
  last_delta_ = {};
  changed_ = true;
  return erased;
}

// -- settled tasks that are not kept --------------------------------------------------------------

/// The first settled task of a status that arrived after `after`.
int lmdb_txn::next_settled(project_id project, task_status status, std::uint64_t after,
                           std::optional<std::uint64_t>& seq) {
  seq.reset();
  const auto from = settled_key(project, status, after + 1);
  auto k = lmdb::val(from);
  MDB_val v{};
  const int rc = cursors_[table::settled].seek(k, v, MDB_SET_RANGE);
  if (rc == MDB_NOTFOUND) return 0;
  if (rc != 0) return rc;
  if (k.mv_size != from.size() || std::memcmp(k.mv_data, from.data(), 5) != 0) return 0;
  seq = get_big<std::uint64_t>(static_cast<const std::byte*>(k.mv_data) + 5);
  return 0;
}

/// Removes one task if it is to go. What cannot be read is never deleted.
int lmdb_txn::erase_settled_task(project_id project, task_status status, std::uint64_t seq,
                                 wall_time older_than, bool& gone) {
  bool there = false;
  std::optional<task_brief> brief;
  gone = false;
  if (int rc = look_at_record(seq, there, brief); rc != 0) return rc;
  if (!brief || brief->ref.project != project || brief->updatetime >= older_than) return 0;
  gone = true;
  --count_of(delta(project), status);
  if (int rc = erase_record(seq, status, *brief); rc != 0) return rc;
  return erase(table::settled, settled_key(project, status, seq));
}

result<sweep_outcome> lmdb_txn::erase_settled(project_id project, const settled_sweep& sweep,
                                              std::size_t limit) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  constexpr std::array statuses{task_status::success, task_status::failed, task_status::bad};
  sweep_outcome out;
  std::array<std::optional<std::uint64_t>, statuses.size()> first;
  if (sweep.excess > 0)
    for (std::size_t i = 0; i < statuses.size(); ++i)
      if (int rc = next_settled(project, statuses[i], 0, first[i]); rc != 0) return failure(rc);
  bool gone = false;
  for (std::size_t looked = 0;
       out.erased < std::min<std::uint64_t>(limit, sweep.excess) && looked < 4 * limit; ++looked) {
    const auto oldest = std::min_element(first.begin(), first.end(),
                                         [](auto a, auto b) { return a && (!b || *a < *b); });
    if (!*oldest) break;
    const auto seq = **oldest;
    const auto status = statuses[static_cast<std::size_t>(oldest - first.begin())];
    if (int rc = erase_settled_task(project, status, seq, wall_time::max(), gone); rc != 0)
      return failure(rc);
    if (int rc = next_settled(project, status, seq, *oldest); rc != 0) return failure(rc);
    out.erased += gone ? 1 : 0;
  }
  out.status = sweep.status;
  out.after = sweep.after;
  if (sweep.older_than != wall_time{}) {
    out.end = false;
    for (std::size_t looked = 0; out.erased < limit && looked < 4 * limit; ++looked) {
      std::optional<std::uint64_t> seq;
      if (int rc = next_settled(project, out.status, out.after, seq); rc != 0) return failure(rc);
      if (!seq) {
        out.end = out.status == task_status::bad;
        if (out.end) break;
        out.status = static_cast<task_status>(static_cast<int>(out.status) + 1);
        out.after = 0;
        continue;
      }
      out.after = *seq;
      if (int rc = erase_settled_task(project, out.status, out.after, sweep.older_than, gone);
          rc != 0)
        return failure(rc);
      out.erased += gone ? 1 : 0;
    }
  }
  old_pages_ += 3 * out.erased;
  changed_ = changed_ || out.erased > 0;
  return out;
}

} // namespace lycosa::storage
