#include "storage/lmdb_txn.hpp"

#include "storage/keys.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

namespace lycosa::storage {

namespace {

/// Parts of a log batch: two of them fill a page, and no run of neighbouring free pages has to be
/// found as for one large value.
constexpr std::size_t log_part = 2016;
/// Parts that a commit removes at most when the log was switched off or its bound lowered.
constexpr int trim_at_most = 4096;

} // namespace

result<std::unique_ptr<write_txn>> lmdb_shard::begin() {
  // LMDB would wait for ever for the thread that waits.
  if (writing_) return fail(errc::internal, std::string(name()), "a transaction is already open");
  auto txn = env_->begin_write();
  if (!txn) return tl::unexpected(txn.error());
  if (generation_ != env_->generation())
    if (auto ok = load_state(*txn); !ok) {
      mdb_txn_abort(*txn);
      return tl::unexpected(ok.error());
    }
  auto t = std::make_unique<lmdb_txn>(*this, *txn);
  if (auto ok = t->open_cursors(); !ok) return tl::unexpected(ok.error());
  return t;
}

lmdb_txn::lmdb_txn(lmdb_shard& store, MDB_txn* txn)
    : store_(store), txn_(txn), state_(store.state_), mutations_(store.mutations_) {
  store_.writing_ = true;
  mutations_.clear();
}

lmdb_txn::~lmdb_txn() {
  for (auto& c : cursors_)
    c.close(); // before the transaction, which they point into
  if (txn_ != nullptr) {
    mdb_txn_abort(txn_);
    store_.writing_ = false;
  }
}

result<void> lmdb_txn::open_cursors() {
  for (std::size_t t = 0; t < cursors_.size(); ++t)
    if (int rc = cursors_[t].open(txn_, store_.env_->table(t)); rc != 0) return failure(rc);
  return {};
}

tl::unexpected<error> lmdb_txn::failure(error e) {
  failed_ = e;
  return tl::unexpected(std::move(e));
}

tl::unexpected<error> lmdb_txn::failure(int rc) {
  auto e = lmdb::to_error(rc, store_.name());
  // A full disk shows itself as a write that came out short, which LMDB reports as EIO.
  const bool disk =
      rc == ENOSPC || rc == EDQUOT || (rc == EIO && store_.disk_ && store_.disk_->exhausted());
  if (disk && rc == EIO) e = lmdb::to_error(ENOSPC, store_.name());
  // The file is given up at once: what was refused may be tried again as settling work.
  if (disk && store_.disk_) store_.disk_->release();
  if (rc == MDB_MAP_FULL) store_.refused_pages_ = 64;
  return failure(std::move(e));
}

result<void> lmdb_txn::usable() const {
  if (failed_) return tl::unexpected(*failed_);
  if (txn_ == nullptr)
    return fail(errc::internal, std::string(store_.name()), "the transaction has ended");
  return {};
}

status_counts& lmdb_txn::delta(project_id project) {
  if (last_delta_.second == nullptr || last_delta_.first != project)
    last_delta_ = {project, &deltas_[project]};
  return *last_delta_.second;
}

const index_change* lmdb_txn::waiting(const task_ref& ref) const {
  const auto i = fresh_.find(ref);
  return i != fresh_.end() ? &i->second : store_.waiting_.find(ref);
}

result<void> lmdb_txn::find(std::span<const task_ref> refs,
                            std::span<std::optional<task_slot>> out) {
  if (auto ok = usable(); !ok) return ok;
  auto wanted =
      answer_waiting([this](const task_ref& r) { return waiting(r); }, store_.id_.shard, refs, out);
  auto done = find_slots(cursors_[table::hashes].get(), store_, refs, std::move(wanted), out);
  if (!done) return failure(done.error());
  for (std::size_t i = 0; i < refs.size(); ++i)
    if (!out[i]) unknown_.insert(refs[i]);
  return done;
}

result<std::optional<queue_position>> lmdb_txn::load(task_key key, record_batch& out) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  const auto bytes = seq_key(key.seq());
  auto k = lmdb::val(bytes);
  MDB_val v{};
  const int rc =
      key.shard() == store_.id_.shard ? cursors_[table::tasks].seek(k, v, MDB_SET) : MDB_NOTFOUND;
  if (rc == MDB_NOTFOUND)
    return fail(errc::not_found, "task", "no record under key " + std::to_string(key.value()));
  if (rc != 0) return failure(rc);
  if (auto ok = decode_into(out, key, lmdb::bytes(v)); !ok) return tl::unexpected(ok.error());
  const auto& item = out.items.back();
  if (item.record.status != task_status::active) return std::nullopt;
  const auto place = active_key(item.project, key.seq());
  k = lmdb::val(place);
  if (int got = cursors_[table::active].seek(k, v, MDB_SET); got != 0) {
    if (got == MDB_NOTFOUND) return std::nullopt;
    return failure(got);
  }
  if (v.mv_size != active_value::bytes) return failure(MDB_CORRUPTED);
  return active_value::read(v.mv_data);
}

/// Puts the task where its status belongs.
int lmdb_txn::place(const task_ref& ref, std::uint64_t seq, task_status status,
                    const queue_position& p) {
  if (status == task_status::active) {
    // First: where it stood is what `active` still says.
    if (int rc = enter_queue(ref.project, seq, p); rc != 0) return rc;
    return put(table::active, active_key(ref.project, seq), active_value::bytes, 0,
               [&](std::byte* at) { active_value::write(p, at); });
  }
  return put(table::settled, settled_key(ref.project, status, seq), 0, 0, [](std::byte*) {});
}

int lmdb_txn::displace(const task_ref& ref, std::uint64_t seq, task_status status) {
  if (status != task_status::active)
    return erase(table::settled, settled_key(ref.project, status, seq));
  const auto key = active_key(ref.project, seq);
  auto k = lmdb::val(key);
  MDB_val v{};
  if (int rc = cursors_[table::active].seek(k, v, MDB_SET); rc != 0) return rc;
  if (int rc = leave_queue(ref.project, seq, v); rc != 0) return rc;
  return erase_current(table::active);
}

result<task_key> lmdb_txn::insert(const task_ref& ref, const task& record,
                                  const queue_position& position) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  const auto seq = state_.next_seq;
  const auto slot = index_of(record, seq);
  if (unknown_.erase(ref) == 0) {
    std::optional<task_slot> known;
    if (auto ok = find({&ref, 1}, {&known, 1}); !ok) return tl::unexpected(ok.error());
    if (known) return failure({errc::internal, "task", "inserted although it is known"});
  }
  auto& encoder = store_.encoder_;
  encoder.encode(ref, record);
  int rc = put(table::tasks, seq_key(seq), encoder.size(), MDB_APPEND,
               [&](std::byte* at) { encoder.write(at); });
  if (rc == MDB_KEYEXIST)
    return failure({errc::corrupt, std::string(store_.name()), "its sequence numbers ran back"});
  if (rc != 0) return failure(rc);
  if (rc = place(ref, seq, record.status, position); rc != 0) return failure(rc);
  fresh_.insert_or_assign(ref, index_change{slot, false});
  ++state_.next_seq;
  ++count_of(delta(ref.project), record.status);
  new_bytes_ += encoder.size() + 64;
  mutations_.push_back({mutation::kind::insert, ref, seq, record.status, 0, slot.lastcrawltime,
                        slot.itag_hash, slot.generation, position});
  return task_key{store_.id_.shard, seq};
}

result<void> lmdb_txn::update(const task_ref& ref, task_key key, task_status old,
                              const task& record, const queue_position& position) {
  if (auto ok = usable(); !ok) return ok;
  const auto seq = key.seq();
  const auto slot = index_of(record, seq);
  const auto bytes = seq_key(seq);
  auto k = lmdb::val(bytes);
  MDB_val v{};
  int rc =
      key.shard() == store_.id_.shard ? cursors_[table::tasks].seek(k, v, MDB_SET) : MDB_NOTFOUND;
  if (rc == MDB_NOTFOUND)
    return failure({errc::not_found, "task", "no record under key " + std::to_string(key.value())});
  if (rc != 0) return failure(rc);
  auto& encoder = store_.encoder_;
  encoder.encode(ref, record);
  rc = put(table::tasks, bytes, encoder.size(), 0, [&](std::byte* at) { encoder.write(at); });
  if (rc != 0) return failure(rc);
  fresh_.insert_or_assign(ref, index_change{slot, false});
  if (old != record.status) {
    rc = displace(ref, seq, old);
    if (rc == MDB_NOTFOUND)
      return failure({errc::internal, "task", "updated from a status that it does not have"});
    if (rc != 0) return failure(rc);
    count_update(delta(ref.project), old, record);
  }
  if (old != record.status || old == task_status::active)
    if (rc = place(ref, seq, record.status, position); rc != 0) return failure(rc);
  new_bytes_ += encoder.size();
  old_pages_ += 3;
  mutations_.push_back({mutation::kind::update, ref, seq, record.status,
                        static_cast<std::uint8_t>(old), slot.lastcrawltime, slot.itag_hash,
                        slot.generation, position});
  return {};
}

result<void> lmdb_txn::put_result(const task_ref& ref, const result_entry& entry) {
  if (auto ok = usable(); !ok) return ok;
  if (entry.taskid.size() > std::numeric_limits<std::uint16_t>::max())
    return fail(errc::too_large, "taskid", "longer than 65535 bytes");
  const int rc = put(table::results, ref_key(ref), result_value::bytes(entry), 0,
                     [&](std::byte* at) { result_value::write(entry, at); });
  if (rc != 0) return failure(rc);
  new_bytes_ += result_value::bytes(entry) + 32;
  ++old_pages_;
  auto& m = mutations_.emplace_back();
  m.what = mutation::kind::put_result;
  m.ref = ref;
  return {};
}

// -- commit ------------------------------------------------------------------------------------

result<void> lmdb_txn::write_counts() {
  for (const auto& [project, d] : deltas_) {
    const auto key = project_key(project);
    auto k = lmdb::val(key);
    MDB_val v{};
    status_counts c;
    const int rc = cursors_[table::counts_].seek(k, v, MDB_SET);
    if (rc != 0 && rc != MDB_NOTFOUND) return failure(rc);
    if (rc == 0 && !counts_value::fits(v.mv_size)) return failure(MDB_CORRUPTED);
    if (rc == 0) c = counts_value::read(v.mv_data, v.mv_size);
    add_counts(c, d);
    const int done = put(table::counts_, key, counts_value::bytes, 0,
                         [&](std::byte* at) { counts_value::write(c, at); });
    if (done != 0) return failure(done);
  }
  return {};
}

int lmdb_txn::place_index(const merge_plan& plan) {
  for (const auto& [ref, change] : plan.place) {
    const auto& value = change->value;
    const int rc = change->erased ? erase(table::hashes, hash_key(ref))
                                  : put(table::hashes, hash_key(ref), value.size(), 0,
                                        [&](std::byte* at) { value.write(at); });
    // Erased before it ever was in its place.
    if (rc != 0 && !(change->erased && rc == MDB_NOTFOUND)) return rc;
  }
  old_pages_ += plan.place.size();
  bool waits = false;
  for (const auto& [ref, change] : fresh_)
    if (!plan.whole[index_buffer::slice_of(ref)]) waits = true;
  auto from = store_.waiting_.oldest(plan.whole);
  if (waits) from = std::min(from, state_.lsn);
  state_.index_from = from == index_buffer::none ? state_.lsn + 1 : from;
  return 0;
}

/// After the commit.
void lmdb_txn::keep_waiting(const merge_plan& plan) {
  const std::unique_lock lock(store_.waiting_mutex_);
  auto& waiting = store_.waiting_;
  for (std::size_t i = 0; i < plan.whole.size(); ++i)
    if (plan.whole[i]) waiting.drop_slice(i);
  for (const auto& [ref, change] : fresh_)
    if (!plan.whole[index_buffer::slice_of(ref)]) waiting.put(ref, change, state_.lsn);
  store_.pace_ = plan.after;
}

int lmdb_txn::write_log(const merge_plan& plan) {
  mutation_batch batch{state_.lsn, store_.id_.epoch, std::move(mutations_),
                       static_cast<std::uint16_t>(plan.merged),
                       static_cast<std::uint16_t>(plan.after.next)};
  const auto bytes = encode_mutations(batch);
  mutations_ = std::move(batch.mutations); // the next transaction uses its memory
  std::uint16_t part = 0;
  for (std::size_t at = 0; at < bytes.size(); at += log_part, ++part) {
    const auto n = std::min(log_part, bytes.size() - at);
    const int rc = put(table::log, log_key(state_.lsn, part), n, MDB_APPEND,
                       [&](std::byte* to) { std::memcpy(to, bytes.data() + at, n); });
    if (rc != 0) return rc;
  }
  state_.log_bytes += bytes.size();
  new_bytes_ += bytes.size();
  return 0;
}

int lmdb_txn::trim_log() {
  for (int n = 0; n < trim_at_most; ++n) {
    MDB_val k{}, v{};
    const int rc = cursors_[table::log].seek(k, v, MDB_FIRST);
    if (rc == MDB_NOTFOUND) {
      state_.log_bytes = 0;
      return 0;
    }
    if (rc != 0) return rc;
    const auto lsn = get_big<std::uint64_t>(k.mv_data);
    const auto part = get_big<std::uint16_t>(static_cast<const std::byte*>(k.mv_data) + 8);
    // Whole batches only, and never the newest, nor what the index needs.
    if (part == 0
        && (state_.log_bytes <= store_.options_.log_bytes || lsn == state_.lsn
            || lsn >= state_.index_from))
      return 0;
    state_.log_bytes -= std::min<std::uint64_t>(v.mv_size, state_.log_bytes);
    if (int gone = erase_current(table::log); gone != 0) return gone;
  }
  return 0;
}

int lmdb_txn::write_state() {
  return put(table::meta, lmdb_shard::state::key, lmdb_shard::state::bytes, 0,
             [&](std::byte* at) { state_.write(at); });
}

result<void> lmdb_txn::check_space(commit_class kind) {
  const auto use = store_.env_->pages();
  // From above: appended bytes twice (their pages and the trees over them), every changed entry on
  // a page of its own.
  const auto dirty =
      32 + 2 * new_bytes_ / use.page_bytes + std::min<std::uint64_t>(old_pages_, use.last);
  const auto bytes = dirty * use.page_bytes;
  if (kind == commit_class::settle) {
    if (store_.disk_) store_.disk_->before_settle(bytes);
    return {};
  }
  const auto limit = store_.page_limit(use);
  if (use.last + dirty > limit) {
    // Only now: counting the free pages takes a walk.
    auto reader = store_.env_->read();
    if (!reader) return failure(reader.error());
    const auto counted = store_.env_->count_pages(*reader);
    if (!counted) return failure(counted.error());
    if (counted->last - std::min(counted->free, counted->last) + dirty > limit) {
      store_.refused_pages_ = dirty;
      return failure(lmdb::to_error(MDB_MAP_FULL, store_.name()));
    }
  }
  store_.refused_pages_ = 0;
  if (!store_.disk_) return {};
  if (store_.disk_->allow_growth(bytes)) {
    store_.spare_pages_ = 0;
  } else {
    // What fits into the file's free pages needs nothing of the disk. A walk finds out how many
    // there are; what it found is used up before the next one.
    if (store_.spare_pages_ < dirty) {
      auto spare = store_.spare_pages();
      if (!spare) return failure(spare.error());
      store_.spare_pages_ = *spare;
    }
    if (store_.spare_pages_ < dirty) {
      store_.refused_disk_pages_ = dirty;
      return failure(lmdb::to_error(ENOSPC, store_.name()));
    }
    store_.spare_pages_ -= dirty;
  }
  store_.refused_disk_pages_ = 0;
  return {};
}

result<std::uint64_t> lmdb_txn::commit(commit_class kind) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  const auto end = [&] {
    for (auto& c : cursors_)
      c.close();
    store_.writing_ = false;
    return std::exchange(txn_, nullptr);
  };
  store_.last_sync_ = usec{0};
  if (mutations_.empty() && !changed_) {
    mdb_txn_abort(end());
    return state_.lsn;
  }
  ++state_.lsn;
  if (auto ok = write_counts(); !ok) return tl::unexpected(ok.error());
  const auto plan =
      plan_merge(store_.waiting_, fresh_, mutations_.size(), store_.pace_, store_.limits(txn_));
  if (int rc = place_index(plan); rc != 0) return failure(rc);
  // Without gaps, so that a record that is missing is noticed.
  if (int rc = write_log(plan); rc != 0) return failure(rc);
  if (int rc = trim_log(); rc != 0) return failure(rc);
  if (int rc = write_state(); rc != 0) return failure(rc);
  if (const auto* changes = store_.env_->changes()) new_bytes_ += changes->size(); // a log of them
  if (auto ok = check_space(kind); !ok) return tl::unexpected(ok.error());
  const auto asked = std::chrono::steady_clock::now();
  const auto rc = store_.env_->commit(end());
  if (!rc) return failure(rc.error());
  if (*rc != 0) return failure(*rc);
  store_.last_sync_ =
      std::chrono::duration_cast<usec>(std::chrono::steady_clock::now() - asked) + usec{1};
  store_.state_ = state_;
  store_.last_lsn_ = state_.lsn;
  if (orders_) store_.orders_ = std::move(*orders_);
  keep_waiting(plan);
  if (auto ok = store_.env_->settled(); !ok) return failure(ok.error());
  return state_.lsn;
}

} // namespace lycosa::storage
