#include "actors/commit_group.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

namespace lycosa::actors {

namespace {

/// Fills in the counts a project keeps of its shard. They were committed, so a failure to read
/// them back is not worth failing the operation for. Most operations of a group are of one project.
class counts_reader {
public:
  explicit counts_reader(storage::shard_store& store) : store_(store) {}
  template <class Op>
  void fill(Op& op, project_id project) {
    if (op.failure) return;
    if (!known_ || last_ != project) {
      auto counts = store_.counts(project);
      known_ = counts ? std::optional(*counts) : std::nullopt;
      last_ = project;
    }
    if (known_) op.counts = *known_;
  }

private:
  storage::shard_store& store_;
  project_id last_{};
  std::optional<status_counts> known_;
};

bool has_growth(const commit_group& g) {
  return !g.submits.empty() || !g.results.empty()
         || std::ranges::any_of(g.orders, [](const auto& o) { return o.op->wanted; });
}

/// Whether there is something to do that takes no room, or makes some.
bool has_settling(const commit_group& g) {
  return !g.reports.empty() || !g.erases.empty()
         || std::ranges::any_of(g.orders, [](const auto& o) { return !o.op->wanted; });
}

} // namespace

void commit_group::add(submit_op_ptr op, project_actor from) {
  size_ += op->items.size();
  submits.push_back({std::move(op), std::move(from)});
}

void commit_group::add(report_op_ptr op, project_actor from) {
  size_ += op->items.size();
  reports.push_back({std::move(op), std::move(from)});
}

void commit_group::add(result_op_ptr op) {
  size_ += 1;
  results.push_back(std::move(op));
}

void commit_group::add(erase_op_ptr op, project_actor from) {
  size_ += op->limit;
  erases.push_back({std::move(op), std::move(from)});
}

void commit_group::add(order_op_ptr op, project_actor from) {
  size_ += op->limit;
  orders.push_back({std::move(op), std::move(from)});
}

void commit_group::clear() {
  submits.clear();
  orders.clear();
  reports.clear();
  results.clear();
  result_failures.clear();
  erases.clear();
  size_ = 0;
}

void commit_group::commit(wall_time now) {
  result_failures.assign(results.size(), std::nullopt);
  synced_ = usec{0};
  try {
    auto done = attempt(now, true);
    if (!done && done.error().code == errc::no_space) {
      // Make sure that finishing work still works: it is what frees space.
      if (has_growth(*this)) refuse_growth(done.error());
      done = attempt(now, false);
      if (!done && done.error().code == errc::no_space && store_.release_reserve())
        done = attempt(now, false);
    }
    if (!done) {
      refuse_all(done.error());
      return;
    }
  } catch (const std::exception& e) {
    refuse_all(error{errc::internal, "shard", e.what()});
    return;
  }
  counts_reader counts(store_);
  for (auto& s : submits)
    counts.fill(*s.op, s.op->facts->id);
  for (auto& r : reports)
    counts.fill(*r.op, r.op->facts->id);
  for (auto& e : erases)
    if (e.op->sweep) counts.fill(*e.op, e.op->project);
}

result<void> commit_group::attempt(wall_time now, bool with_growth) {
  const bool growth = with_growth && has_growth(*this);
  if (!growth && !has_settling(*this)) return {};
  auto txn = store_.begin();
  if (!txn) return tl::unexpected(txn.error());
  // Reports first: when a client reports a page and submits it again, the report was sent first.
  for (auto& r : reports)
    if (auto ok = run(**txn, *r.op, now); !ok) return ok;
  if (growth) {
    for (auto& s : submits)
      if (auto ok = run(**txn, *s.op); !ok) return ok;
    for (auto& op : results) {
      auto ok = (*txn)->put_result({op->project, op->hash},
                                   {op->entry.taskid, op->entry.json, op->entry.updatetime});
      if (!ok) return ok;
    }
  }
  for (auto& o : orders) {
    if (o.op->wanted && !growth) continue;
    auto step = (*txn)->keep_in_order(o.op->project, o.op->wanted, o.op->limit);
    if (!step) return tl::unexpected(step.error());
    o.op->done = step->done;
  }
  for (auto& e : erases)
    if (auto ok = run(**txn, *e.op); !ok) return ok;
  auto lsn = (*txn)->commit(growth ? storage::commit_class::growth : storage::commit_class::settle);
  if (!lsn) return tl::unexpected(lsn.error());
  synced_ = store_.last_sync();
  return {};
}

result<void> commit_group::run(storage::write_txn& txn, erase_op& op) {
  if (op.sweep) {
    auto swept = txn.erase_settled(op.project, *op.sweep, op.limit);
    if (!swept) return tl::unexpected(swept.error());
    op.swept = *swept;
    op.erased = swept->erased;
    return {};
  }
  auto n = txn.erase_some(op.project, op.limit);
  if (!n) return tl::unexpected(n.error());
  op.erased = *n;
  return {};
}

result<void> commit_group::run(storage::write_txn& txn, submit_op& op) {
  const auto n = op.items.size();
  op.outcomes.assign(n, {});
  op.counted = {}; // of an attempt that failed
  refs_.resize(n);
  slots_.assign(n, std::nullopt);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  // In key order the look-ups walk the index page by page; equal hashes end up side by side.
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return op.items[a].hash < op.items[b].hash;
  });
  for (std::size_t i = 0; i < n; ++i)
    refs_[i] = {op.facts->id, op.items[order_[i]].hash};
  if (auto ok = txn.find(refs_, slots_); !ok) return ok;

  // Carried out in the client's order, so that tasks arrive in it. A task that stands in the list
  // twice is looked up again, since its first occurrence has changed what the index says.
  std::vector<std::optional<task_slot>> by_item(n);
  std::vector<bool> again(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    by_item[order_[i]] = slots_[i];
    again[order_[i]] = i > 0 && refs_[i].hash == refs_[i - 1].hash;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (again[i]) {
      const storage::task_ref ref{op.facts->id, op.items[i].hash};
      if (auto ok = txn.find({&ref, 1}, {&by_item[i], 1}); !ok) return ok;
    }
    if (auto ok = run_one(txn, op, i, by_item[i]); !ok) return ok;
  }
  return {};
}

result<void> commit_group::run_one(storage::write_txn& txn, submit_op& op, std::size_t i,
                                   const std::optional<task_slot>& slot) {
  if (op.part && op.part->import) return import_one(txn, op, i, slot);
  const auto& item = op.items[i];
  auto& out = op.outcomes[i];
  const auto verdict = judge_submit(slot, *item.record, op.at);
  out.what = verdict.outcome;
  out.reason = verdict.reason;
  if (verdict.outcome == accept_outcome::ignored) return {};

  const storage::task_ref ref{op.facts->id, item.hash};
  if (verdict.outcome == accept_outcome::created) {
    const auto d = apply_submit(verdict.outcome, nullptr, *item.record, item.arrival, op.at);
    auto key = txn.insert(ref, d.record, d.position);
    if (!key) return tl::unexpected(key.error());
    out.key = *key;
    out.position = d.position;
    op.counted += d.delta;
    return {};
  }
  storage::record_batch stored;
  auto stood = txn.load(slot->key, stored);
  if (!stood) {
    if (stood.error().code != errc::corrupt) return tl::unexpected(stood.error());
    out.error = "its stored record cannot be read";
    return {};
  }
  // A task that waits keeps its turn among its peers, on disk as in memory.
  const auto arrival = *stood ? (*stood)->arrival : item.arrival;
  const auto d =
      apply_submit(verdict.outcome, &stored.items.front().record, *item.record, arrival, op.at);
  if (auto ok = txn.update(ref, slot->key, slot->status, d.record, d.position); !ok) return ok;
  out.key = slot->key;
  out.position = d.position;
  op.counted += d.delta;
  return {};
}

result<void> commit_group::import_one(storage::write_txn& txn, submit_op& op, std::size_t i,
                                      const std::optional<task_slot>& slot) {
  const auto& item = op.items[i];
  auto& out = op.outcomes[i];
  const storage::task_ref ref{op.facts->id, item.hash};
  storage::record_batch stored;
  const task* known = nullptr;
  auto arrival = item.arrival;
  if (slot) {
    auto stood = txn.load(slot->key, stored);
    if (stood) known = &stored.items.front().record;
    if (stood && *stood) arrival = (*stood)->arrival;
    if (!stood && stood.error().code != errc::corrupt) return tl::unexpected(stood.error());
    if (known == nullptr) {
      out.error = "its stored record cannot be read";
      return {};
    }
  }
  const auto verdict = judge_import(known, *item.record);
  out.what = verdict.outcome;
  out.reason = verdict.reason;
  if (verdict.outcome == accept_outcome::ignored) return {};
  const auto d = apply_import(known, *item.record, arrival, op.at);
  out.position = d.position;
  out.queued = d.record.status == task_status::active;
  if (known == nullptr) {
    auto key = txn.insert(ref, d.record, d.position);
    if (!key) return tl::unexpected(key.error());
    out.key = *key;
    return {};
  }
  out.key = slot->key;
  return txn.update(ref, slot->key, slot->status, d.record, d.position);
}

result<void> commit_group::run(storage::write_txn& txn, report_op& op, wall_time now) {
  op.outcomes.assign(op.items.size(), {});
  op.counted = {};
  for (std::size_t i = 0; i < op.items.size(); ++i)
    if (auto ok = run_one(txn, op, i, now); !ok) return ok;
  return {};
}

result<void> commit_group::run_one(storage::write_txn& txn, report_op& op, std::size_t i,
                                   wall_time now) {
  const auto& item = op.items[i];
  auto& out = op.outcomes[i];
  storage::record_batch loaded;
  auto stood = txn.load(item.key, loaded);
  if (!stood) {
    if (stood.error().code == errc::not_found) {
      out.error = "unknown task";
      out.forget = true;
      return {};
    }
    if (stood.error().code == errc::corrupt) {
      out.error = "its stored record cannot be read";
      return {};
    }
    return tl::unexpected(stood.error());
  }
  const auto& stored = loaded.items.front().record;
  if (item.queued_before && stored.status == task_status::active
      && (!*stood || (*stood)->arrival >= *item.queued_before)) {
    out.error = item.said->lease ? "stale lease" : "the task is not handed out";
    return {};
  }
  if (stored.taskid != item.said->pack.taskid) {
    out.error = "taskid: not the task of this lease";
    return {};
  }
  if (stored.status != task_status::active) {
    out.error = "stale lease";
    out.forget = true;
    return {};
  }
  if (item.perhaps_again && already_reported(stored, item.said->pack)) {
    out.error = "already reported";
    return {};
  }
  const auto generation =
      item.generation_known ? item.generation : stored.generation - (item.restarted ? 1 : 0);
  const auto& retry = op.facts->retry ? *op.facts->retry : default_retry_;
  const auto d = decide_report(stored, stood->value_or(item.stood), item.said->pack, generation,
                               retry, item.arrival, now);
  const storage::task_ref ref{op.facts->id, hash_task(op.facts->name, stored.taskid)};
  if (auto ok = txn.update(ref, item.key, stored.status, d.record, d.position); !ok) return ok;
  out.what = d.outcome;
  out.position = d.position;
  op.counted += d.delta;
  if (i + active_per_batch >= op.items.size())
    out.happened = active_entry{now,
                                op.facts->name,
                                std::string{d.record.taskid},
                                std::string{d.record.url},
                                d.record.status,
                                d.record.lastcrawltime,
                                d.record.updatetime,
                                std::string{d.record.track}};
  return {};
}

void commit_group::refuse_growth(const error& why) {
  for (auto& s : submits)
    s.op->failure = why;
  for (auto& f : result_failures)
    f = why;
  for (auto& o : orders)
    if (o.op->wanted) o.op->failure = why;
}

void commit_group::refuse_all(const error& why) {
  refuse_growth(why);
  for (auto& o : orders)
    o.op->failure = why;
  for (auto& r : reports)
    r.op->failure = why;
  for (auto& e : erases)
    e.op->failure = why;
}

} // namespace lycosa::actors
