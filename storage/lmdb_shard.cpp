#include "storage/lmdb_shard.hpp"

#include "storage/cursor_text.hpp"
#include "storage/keys.hpp"

#include <algorithm>

namespace lycosa::storage {

namespace {

bool has_prefix(const MDB_val& key, std::span<const std::byte> prefix) {
  return key.mv_size >= prefix.size()
         && std::memcmp(key.mv_data, prefix.data(), prefix.size()) == 0;
}

std::uint64_t seq_at(const MDB_val& key, std::size_t offset) {
  return get_big<std::uint64_t>(static_cast<const std::byte*>(key.mv_data) + offset);
}

auto odd_entry(std::string_view name, const char* table) {
  return fail(errc::corrupt, std::string(name),
              std::string("an entry of ") + table + " has the wrong length");
}

} // namespace

std::uint64_t lmdb_shard::page_limit(const lmdb::page_use& use) const {
  // A settling commit rewrites some dozens of pages, and what it frees can be used again only a
  // commit later: on a small map an eighth would not hold that.
  constexpr std::uint64_t least = 96;
  const auto reserve = std::clamp<std::uint64_t>(
      options_.reserve_bytes, std::min(least * use.page_bytes, use.map_bytes / 2),
      std::max(use.map_bytes / 8, least * use.page_bytes));
  return (use.map_bytes - reserve) / use.page_bytes;
}

std::uint64_t lmdb_shard::spare_pages(const lmdb::page_use& counted) const {
  const auto kept = disk_->cushion() / counted.page_bytes;
  return counted.free - std::min(counted.free, kept);
}

result<std::uint64_t> lmdb_shard::spare_pages() {
  auto reader = env_->read();
  if (!reader) return tl::unexpected(reader.error());
  const auto use = env_->count_pages(*reader);
  if (!use) return tl::unexpected(use.error());
  return spare_pages(*use);
}

// -- reads -------------------------------------------------------------------------------------

result<void> find_slots(MDB_cursor* hashes, const lmdb_shard& shard, std::span<const task_ref> refs,
                        std::vector<std::uint32_t> wanted,
                        std::span<std::optional<task_slot>> out) {
  const auto& name = shard.env().name();
  const auto before = [&](auto a, auto b) { return before_in_hashes(refs[a], refs[b]); };
  // Neighbours in key order share pages.
  if (!std::is_sorted(wanted.begin(), wanted.end(), before))
    std::sort(wanted.begin(), wanted.end(), before);
  for (auto i : wanted) {
    const auto key = shard.entry_key(refs[i]);
    auto k = lmdb::val(key);
    MDB_val v{};
    const int rc = mdb_cursor_get(hashes, &k, &v, MDB_SET);
    if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name);
    out[i].reset();
    if (rc != 0) continue;
    const auto value = index_value::read(lmdb::bytes(v));
    if (!value) return lmdb::failed(MDB_CORRUPTED, name);
    out[i] = value->slot(shard.id().shard);
  }
  return {};
}

result<void> lmdb_shard::find(std::span<const task_ref> refs,
                              std::span<std::optional<task_slot>> out) {
  // The snapshot is taken under the lock: a change leaves the buffer after the commit that put it
  // in its place, so it is found in one of the two.
  std::shared_lock lock(waiting_mutex_);
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  index_buffer of_snapshot;
  if (options_.read_only)
    if (auto ok = read_waiting(txn->get(), of_snapshot); !ok) return ok;
  const auto& waiting = options_.read_only ? of_snapshot : waiting_;
  auto wanted =
      answer_waiting([&](const task_ref& r) { return waiting.find(r); }, id_.shard, refs, out);
  lock.unlock();
  lmdb::cursor c;
  if (int rc = c.open(txn->get(), env_->table(hashes)); rc != 0) return lmdb::failed(rc, name());
  return find_slots(c.get(), *this, refs, std::move(wanted), out);
}

result<void> lmdb_shard::load(std::span<const task_key> keys, record_batch& out,
                              std::vector<task_key>* missing) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (int rc = c.open(txn->get(), env_->table(tasks)); rc != 0) return lmdb::failed(rc, name());
  out.items.reserve(out.items.size() + keys.size());
  for (auto key : keys) {
    const auto bytes = seq_key(key.seq());
    auto k = lmdb::val(bytes);
    MDB_val v{};
    const int rc = key.shard() == id_.shard ? c.seek(k, v, MDB_SET) : MDB_NOTFOUND;
    if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
    if (rc == MDB_NOTFOUND || !decode_into(out, key, lmdb::bytes(v)))
      if (missing != nullptr) missing->push_back(key);
  }
  return {};
}

namespace {

/// Walks one prefix of `active` or `settled`, giving its seqs in order.
class seq_walk {
public:
  int open(MDB_txn* txn, MDB_dbi dbi, std::span<const std::byte> prefix, std::uint64_t after) {
    prefix_.assign(prefix.begin(), prefix.end());
    if (int rc = c_.open(txn, dbi); rc != 0) return rc;
    if (after == ~std::uint64_t{0}) return done();
    auto from = prefix_;
    from.resize(from.size() + 8);
    put_big(from.data() + prefix_.size(), after + 1);
    MDB_val k = lmdb::val(from);
    return take(c_.seek(k, v_, MDB_SET_RANGE), k);
  }
  int next() {
    MDB_val k{};
    return take(c_.seek(k, v_, MDB_NEXT), k);
  }
  [[nodiscard]] bool at_end() const { return end_; }
  [[nodiscard]] std::uint64_t seq() const { return seq_; }
  [[nodiscard]] const MDB_val& value() const { return v_; }

private:
  int done() {
    end_ = true;
    return 0;
  }
  int take(int rc, const MDB_val& k) {
    if (rc == MDB_NOTFOUND) return done();
    if (rc != 0) return rc;
    if (!has_prefix(k, prefix_)) return done();
    if (k.mv_size != prefix_.size() + 8) return MDB_CORRUPTED;
    seq_ = seq_at(k, prefix_.size());
    return 0;
  }

  lmdb::cursor c_;
  std::vector<std::byte> prefix_;
  MDB_val v_{};
  std::uint64_t seq_ = 0;
  bool end_ = false;
};

} // namespace

result<page<record_batch>> lmdb_shard::list(project_id project, std::optional<task_status> status,
                                            std::string_view cursor, std::size_t limit) {
  auto from = parse_list_cursor(cursor, status);
  if (!from) return tl::unexpected(from.error());
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor records;
  if (int rc = records.open(txn->get(), env_->table(tasks)); rc != 0)
    return lmdb::failed(rc, name());
  // One walk a status; their merge by seq is the order of arrival.
  std::vector<seq_walk> walks;
  for (auto s : all_statuses) {
    if (status && *status != s) continue;
    auto& w = walks.emplace_back();
    const auto prefix = settled_key(project, s, 0);
    const bool queued = s == task_status::active;
    const int rc = w.open(txn->get(), env_->table(queued ? active : settled),
                          std::span(prefix).first(queued ? 4 : 5), from->seq);
    if (rc != 0) return lmdb::failed(rc, name());
  }
  page<record_batch> out;
  std::uint64_t last = from->seq;
  for (std::size_t shown = 0;;) {
    auto w = std::min_element(walks.begin(), walks.end(), [](const auto& a, const auto& b) {
      return !a.at_end() && (b.at_end() || a.seq() < b.seq());
    });
    if (w == walks.end() || w->at_end()) return out;
    if (shown == limit) break;
    last = w->seq();
    const auto bytes = seq_key(last);
    auto k = lmdb::val(bytes);
    MDB_val v{};
    const int rc = records.seek(k, v, MDB_SET);
    if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
    // A record that cannot be read is left out: `check` names it, a listing goes on.
    if (rc == 0 && decode_into(out.items, task_key{id_.shard, last}, lmdb::bytes(v))) ++shown;
    if (int moved = w->next(); moved != 0) return lmdb::failed(moved, name());
  }
  out.next = to_text(list_cursor{from->status, last});
  return out;
}

result<std::vector<active_entry>>
lmdb_shard::scan_active(project_id project, std::optional<task_key> after, std::size_t limit) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  seq_walk w;
  const auto prefix = project_key(project);
  int rc = w.open(txn->get(), env_->table(active), prefix, after ? after->seq() : 0);
  std::vector<active_entry> out;
  for (; rc == 0 && !w.at_end() && out.size() < limit; rc = w.next()) {
    if (w.value().mv_size != active_value::bytes) return odd_entry(name(), "active");
    out.push_back({project, task_key{id_.shard, w.seq()}, active_value::read(w.value().mv_data)});
  }
  if (rc != 0) return lmdb::failed(rc, name());
  return out;
}

result<status_counts> lmdb_shard::counts(project_id project) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  const auto key = project_key(project);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = mdb_get(txn->get(), env_->table(counts_), &k, &v);
  if (rc == MDB_NOTFOUND) return status_counts{};
  if (rc != 0) return lmdb::failed(rc, name());
  if (!counts_value::fits(v.mv_size)) return odd_entry(name(), "counts");
  return counts_value::read(v.mv_data, v.mv_size);
}

result<std::optional<result_entry>> lmdb_shard::get_result(const task_ref& ref) {
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  const auto key = ref_key(ref);
  auto k = lmdb::val(key);
  MDB_val v{};
  const int rc = mdb_get(txn->get(), env_->table(results), &k, &v);
  if (rc == MDB_NOTFOUND) return std::nullopt;
  if (rc != 0) return lmdb::failed(rc, name());
  result_entry e;
  if (!result_value::read(lmdb::text(v), e)) return odd_entry(name(), "results");
  return e;
}

result<page<std::vector<result_entry>>>
lmdb_shard::list_results(project_id project, std::string_view cursor, std::size_t limit) {
  auto after = parse_result_cursor(cursor);
  if (!after) return tl::unexpected(after.error());
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  lmdb::cursor c;
  if (int rc = c.open(txn->get(), env_->table(results)); rc != 0) return lmdb::failed(rc, name());
  const auto prefix = project_key(project);
  const auto start = ref_key({project, after->value_or(task_hash{})});
  auto k = lmdb::val(start);
  MDB_val v{};
  int rc = c.seek(k, v, MDB_SET_RANGE);
  if (rc == 0 && *after && k.mv_size == start.size()
      && std::memcmp(k.mv_data, start.data(), start.size()) == 0)
    rc = c.seek(k, v, MDB_NEXT);
  page<std::vector<result_entry>> out;
  task_hash last;
  for (; rc == 0 && has_prefix(k, prefix); rc = c.seek(k, v, MDB_NEXT)) {
    if (out.items.size() == limit) {
      out.next = to_text(limit == 0 ? after->value_or(task_hash{}) : last);
      return out;
    }
    if (k.mv_size != start.size()) return odd_entry(name(), "results");
    last = ref_of(k.mv_data).hash;
    if (!result_value::read(lmdb::text(v), out.items.emplace_back()))
      return odd_entry(name(), "results");
  }
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, name());
  return out;
}

result<shard_stats> lmdb_shard::stats() {
  shard_stats s;
  auto size = env_->file_bytes();
  if (!size) return tl::unexpected(size.error());
  auto txn = env_->read();
  if (!txn) return tl::unexpected(txn.error());
  const auto entries = [&](table t) -> std::uint64_t {
    MDB_stat st{};
    return mdb_stat(txn->get(), env_->table(t), &st) == 0 ? st.ms_entries : 0;
  };
  auto use = env_->count_pages(*txn);
  if (!use) return tl::unexpected(use.error());
  const auto used = use->last - std::min(use->free, use->last);
  s.tasks = entries(tasks);
  s.active = entries(active);
  s.results = entries(results);
  s.last_lsn = last_lsn_;
  s.epoch = id_.epoch;
  s.file_bytes = *size;
  s.used_bytes = used * use->page_bytes;
  s.map_bytes = use->map_bytes;
  // Looked at anew, not remembered: space may have come back without anybody trying to write.
  const auto by_map = refused_pages_.load(), by_disk = refused_disk_pages_.load();
  s.low_space = (by_map != 0 && used + by_map > page_limit(*use))
                || (disk_ && !options_.read_only && !disk_->allow_growth(by_disk * use->page_bytes)
                    && spare_pages(*use) <= by_disk);
  return s;
}

} // namespace lycosa::storage
