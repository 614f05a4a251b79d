#include "storage/memory_shard.hpp"

#include "storage/cursor_text.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace lycosa::storage {

/// Gathers changes beside the shard and puts them in at commit.
class memory_txn final : public write_txn {
public:
  explicit memory_txn(memory_shard& s) : s_(s) {
    const std::shared_lock lock(s.mutex_);
    d_.next_seq = s.t_.next_seq;
    d_.lsn = s.t_.lsn;
  }

  result<void> find(std::span<const task_ref> refs,
                    std::span<std::optional<task_slot>> out) override {
    const std::shared_lock lock(s_.mutex_);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const auto* v = look(d_.index, s_.t_.index, {refs[i].project, refs[i].hash});
      out[i] = v != nullptr ? std::optional(v->slot(s_.shard_)) : std::nullopt;
    }
    return {};
  }

  result<std::optional<queue_position>> load(task_key key, record_batch& out) override {
    const std::shared_lock lock(s_.mutex_);
    const auto* v = task_at(key);
    if (v == nullptr) return no_record(key);
    if (auto ok = decode_into(out, key, *v->record); !ok) return tl::unexpected(ok.error());
    if (v->status != task_status::active) return std::nullopt;
    return v->position;
  }

  result<task_key> insert(const task_ref& ref, const task& record,
                          const queue_position& position) override {
    const std::shared_lock lock(s_.mutex_);
    if (look(d_.index, s_.t_.index, {ref.project, ref.hash}) != nullptr)
      return fail(errc::internal, "task", "inserted although it is known");
    const auto seq = d_.next_seq++;
    d_.index[{ref.project, ref.hash}] = index_of(record, seq);
    d_.tasks[seq] = {ref.project, record.status, position, encode(ref, record)};
    ++count_of(d_.counts[ref.project], record.status);
    changed_ = true;
    return task_key{s_.shard_, seq};
  }

  result<void> update(const task_ref& ref, task_key key, task_status old, const task& record,
                      const queue_position& position) override {
    const std::shared_lock lock(s_.mutex_);
    const auto* was = task_at(key);
    if (was == nullptr) return no_record(key);
    if (old != record.status && was->status != old)
      return fail(errc::internal, "task", "updated from a status that it does not have");
    d_.tasks[key.seq()] = {ref.project, record.status, position, encode(ref, record)};
    d_.index[{ref.project, ref.hash}] = index_of(record, key.seq());
    count_update(d_.counts[ref.project], old, record);
    changed_ = true;
    return {};
  }

  result<void> put_result(const task_ref& ref, const result_entry& entry) override {
    if (entry.taskid.size() > std::numeric_limits<std::uint16_t>::max())
      return fail(errc::too_large, "taskid", "longer than 65535 bytes");
    d_.results[{ref.project, ref.hash}] = entry;
    changed_ = true;
    return {};
  }

  result<std::size_t> erase_some(project_id project, std::size_t limit) override {
    const std::shared_lock lock(s_.mutex_);
    std::size_t erased = 0;
    const auto each = [&](auto& changes, const auto& base, auto&& erase) {
      // Both maps, so that entries of this very transaction go as well.
      for (const auto* m : {&base, &std::as_const(changes)}) {
        std::vector<memory_shard::ref_id> doomed;
        for (auto it = m->lower_bound({project, {}});
             it != m->end() && it->first.first == project && erased + doomed.size() < limit; ++it)
          if (look(changes, base, it->first) != nullptr) doomed.push_back(it->first);
        for (const auto& id : doomed)
          erase(id);
        erased += doomed.size();
      }
    };
    each(d_.index, s_.t_.index, [&](const memory_shard::ref_id& id) {
      const auto slot = *look(d_.index, s_.t_.index, id);
      --count_of(d_.counts[project], slot.status);
      d_.tasks[slot.seq] = std::nullopt;
      d_.index[id] = std::nullopt;
    });
    each(d_.results, s_.t_.results,
         [&](const memory_shard::ref_id& id) { d_.results[id] = std::nullopt; });
    changed_ = changed_ || erased > 0;
    if (erased < limit && order_of(project) != nullptr) set_order(project, std::nullopt);
    return erased;
  }

  result<sweep_outcome> erase_settled(project_id project, const settled_sweep& sweep,
                                      std::size_t limit) override {
    sweep_outcome out;
    const auto erase = [&](std::uint64_t seq, const memory_shard::stored& entry,
                           wall_time older_than) {
      const auto brief = decode_brief(*entry.record);
      if (!brief || brief->updatetime >= older_than) return;
      --count_of(d_.counts[project], entry.status);
      d_.index[{project, brief->ref.hash}] = std::nullopt;
      d_.tasks[seq] = std::nullopt;
      ++out.erased;
    };
    // What this transaction has settled itself is found the next time.
    std::map<std::uint64_t, const memory_shard::stored*> oldest;
    if (sweep.excess > 0)
      for (auto it = s_.by_status_.lower_bound({project, task_status::success, 0});
           it != s_.by_status_.end() && std::get<0>(*it) == project; ++it)
        if (const auto* entry = entry_at(*it)) oldest[std::get<2>(*it)] = entry;
    for (const auto& [seq, entry] : oldest) {
      if (out.erased >= std::min<std::uint64_t>(limit, sweep.excess)) break;
      erase(seq, *entry, wall_time::max());
    }
    out.status = sweep.status;
    out.after = sweep.after;
    if (sweep.older_than != wall_time{}) {
      std::size_t looked = 0;
      auto it = s_.by_status_.upper_bound({project, sweep.status, sweep.after});
      for (; it != s_.by_status_.end() && std::get<0>(*it) == project; ++it) {
        if (out.erased >= limit || looked++ >= 4 * limit) break;
        out.status = std::get<1>(*it);
        out.after = std::get<2>(*it);
        if (const auto* entry = entry_at(*it)) erase(out.after, *entry, sweep.older_than);
      }
      out.end = it == s_.by_status_.end() || std::get<0>(*it) != project;
    }
    changed_ = changed_ || out.erased > 0;
    return out;
  }

  result<order_step> keep_in_order(project_id project, bool wanted, std::size_t limit) override {
    using phase = order_row::phase;
    const std::shared_lock lock(s_.mutex_);
    const auto* is = order_of(project);
    if (is == nullptr ? !wanted : wanted && is->state == phase::complete)
      return order_step{true, 0};
    // The queue is in order here at all times; what takes its time on a disk is only counted off.
    const bool on = is != nullptr && is->follows() == wanted;
    order_row row{wanted ? phase::building : phase::removing, on ? is->from : d_.next_seq};
    order_step step;
    const auto seqs = newest_active(project, row.from, limit);
    step.looked = std::min(limit, seqs.size());
    step.done = seqs.size() <= limit;
    if (step.looked > 0) row.from = seqs[step.looked - 1];
    if (step.done) row = {phase::complete, 0};
    set_order(project, step.done && !wanted ? std::nullopt : std::optional(row));
    return step;
  }

  result<std::uint64_t> commit(commit_class) override {
    if (done_) return fail(errc::internal, "shard", "the transaction has ended");
    done_ = true;
    if (!changed_) return d_.lsn;
    ++d_.lsn;
    const auto lsn = d_.lsn;
    const std::unique_lock lock(s_.mutex_);
    s_.apply(d_);
    return lsn;
  }

private:
  template <class Map>
  static auto look(const Map& changes, const Map& base, const typename Map::key_type& k) -> const
      typename Map::mapped_type::value_type* {
    if (auto it = changes.find(k); it != changes.end()) return it->second ? &*it->second : nullptr;
    auto it = base.find(k);
    return it == base.end() ? nullptr : &*it->second;
  }
  const memory_shard::stored*
  entry_at(const std::tuple<project_id, task_status, std::uint64_t>& place) const {
    const auto* entry = look(d_.tasks, s_.t_.tasks, std::get<2>(place));
    return entry != nullptr && entry->status == std::get<1>(place) ? entry : nullptr;
  }
  const memory_shard::stored* task_at(task_key key) const {
    return key.shard() == s_.shard_ ? look(d_.tasks, s_.t_.tasks, key.seq()) : nullptr;
  }
  const order_row* order_of(project_id project) const {
    return look(d_.orders, s_.t_.orders, project);
  }
  void set_order(project_id project, std::optional<order_row> row) {
    d_.orders[project] = row;
    changed_ = true;
  }
  /// ACTIVE tasks that came before `from`, the newest first, one more than `limit` at most.
  std::vector<std::uint64_t> newest_active(project_id project, std::uint64_t from,
                                           std::size_t limit) const {
    std::set<std::uint64_t, std::greater<>> seqs;
    const auto first = s_.by_status_.lower_bound({project, task_status::active, 0});
    for (auto it = s_.by_status_.lower_bound({project, task_status::active, from});
         it != first && seqs.size() <= limit;)
      if (entry_at(*--it) != nullptr) seqs.insert(std::get<2>(*it));
    for (auto it = d_.tasks.lower_bound(from); it != d_.tasks.begin();) {
      const auto& [seq, now] = *--it;
      if (now && now->project == project && now->status == task_status::active) seqs.insert(seq);
    }
    std::vector<std::uint64_t> out(seqs.begin(), seqs.end());
    out.resize(std::min(out.size(), limit + 1));
    return out;
  }
  static tl::unexpected<error> no_record(task_key key) {
    return fail(errc::not_found, "task", "no record under key " + std::to_string(key.value()));
  }
  memory_shard::bytes encode(const task_ref& ref, const task& record) {
    encoder_.encode(ref, record);
    auto b = std::make_shared<std::vector<std::byte>>(encoder_.size());
    encoder_.write(b->data());
    return b;
  }

  memory_shard& s_;
  memory_shard::tables d_;
  task_encoder encoder_;
  bool changed_ = false;
  bool done_ = false;
};

result<std::unique_ptr<write_txn>> memory_shard::begin() {
  return std::make_unique<memory_txn>(*this);
}

void memory_shard::apply(tables& d) {
  t_.next_seq = d.next_seq;
  t_.lsn = d.lsn;
  const auto merge = [](auto& into, auto& changes) {
    for (auto& [k, v] : changes) {
      if (v)
        into[k] = std::move(v);
      else
        into.erase(k);
    }
  };
  for (auto& [seq, now] : d.tasks) {
    if (auto it = t_.tasks.find(seq); it != t_.tasks.end()) {
      const auto& was = *it->second;
      by_status_.erase({was.project, was.status, seq});
      if (was.status == task_status::active)
        queue_.erase(queue_key(was.project, was.position, seq));
    }
    if (!now) continue;
    by_status_.insert({now->project, now->status, seq});
    if (now->status == task_status::active)
      queue_.insert(queue_key(now->project, now->position, seq));
  }
  merge(t_.tasks, d.tasks);
  merge(t_.index, d.index);
  merge(t_.results, d.results);
  merge(t_.orders, d.orders);
  for (const auto& [project, c] : d.counts) {
    add_counts(t_.counts[project], c);
  }
}

result<void> memory_shard::load(std::span<const task_key> keys, record_batch& out,
                                std::vector<task_key>* missing) {
  const std::shared_lock lock(mutex_);
  for (auto key : keys) {
    auto it = key.shard() == shard_ ? t_.tasks.find(key.seq()) : t_.tasks.end();
    if (it == t_.tasks.end() || !decode_into(out, key, *it->second->record))
      if (missing != nullptr) missing->push_back(key);
  }
  return {};
}

result<void> memory_shard::find(std::span<const task_ref> refs,
                                std::span<std::optional<task_slot>> out) {
  const std::shared_lock lock(mutex_);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    auto it = t_.index.find({refs[i].project, refs[i].hash});
    out[i] = it == t_.index.end() ? std::nullopt : std::optional(it->second->slot(shard_));
  }
  return {};
}

result<page<record_batch>> memory_shard::list(project_id project, std::optional<task_status> status,
                                              std::string_view cursor, std::size_t limit) {
  auto from = parse_list_cursor(cursor, status);
  if (!from) return tl::unexpected(from.error());
  const std::shared_lock lock(mutex_);
  // limit + 1 of each status are enough to find the first `limit` of all.
  std::vector<std::uint64_t> seqs;
  for (auto s : all_statuses) {
    if (status && *status != s) continue;
    std::size_t taken = 0;
    for (auto it = by_status_.upper_bound({project, s, from->seq});
         it != by_status_.end() && std::get<0>(*it) == project && std::get<1>(*it) == s
         && taken <= limit;
         ++it, ++taken)
      seqs.push_back(std::get<2>(*it));
  }
  std::sort(seqs.begin(), seqs.end());
  page<record_batch> out;
  const auto shown = std::min(limit, seqs.size());
  for (std::size_t i = 0; i < shown; ++i) {
    auto ok = decode_into(out.items, task_key{shard_, seqs[i]}, *t_.tasks.at(seqs[i])->record);
    if (!ok) return tl::unexpected(ok.error());
  }
  if (shown < seqs.size())
    out.next = to_text(list_cursor{from->status, shown == 0 ? from->seq : seqs[shown - 1]});
  return out;
}

result<std::vector<active_entry>>
memory_shard::scan_active(project_id project, std::optional<task_key> after, std::size_t limit) {
  const std::shared_lock lock(mutex_);
  std::vector<active_entry> out;
  const auto s = task_status::active;
  for (auto it = by_status_.upper_bound({project, s, after ? after->seq() : 0});
       it != by_status_.end() && std::get<0>(*it) == project && std::get<1>(*it) == s
       && out.size() < limit;
       ++it) {
    const auto seq = std::get<2>(*it);
    out.push_back({project, task_key{shard_, seq}, t_.tasks.at(seq)->position});
  }
  return out;
}

result<status_counts> memory_shard::counts(project_id project) {
  const std::shared_lock lock(mutex_);
  auto it = t_.counts.find(project);
  return it == t_.counts.end() ? status_counts{} : it->second;
}

result<std::optional<result_entry>> memory_shard::get_result(const task_ref& ref) {
  const std::shared_lock lock(mutex_);
  auto it = t_.results.find({ref.project, ref.hash});
  if (it == t_.results.end()) return std::nullopt;
  return *it->second;
}

result<page<std::vector<result_entry>>>
memory_shard::list_results(project_id project, std::string_view cursor, std::size_t limit) {
  auto after = parse_result_cursor(cursor);
  if (!after) return tl::unexpected(after.error());
  const std::shared_lock lock(mutex_);
  page<std::vector<result_entry>> out;
  auto it = *after ? t_.results.upper_bound({project, **after})
                   : t_.results.lower_bound({project, task_hash{}});
  auto last = after->value_or(task_hash{});
  for (; it != t_.results.end() && it->first.first == project; ++it) {
    if (out.items.size() == limit) {
      out.next = to_text(last);
      break;
    }
    last = it->first.second;
    out.items.push_back(*it->second);
  }
  return out;
}

result<shard_stats> memory_shard::stats() {
  const std::shared_lock lock(mutex_);
  shard_stats s;
  s.tasks = t_.tasks.size();
  for (const auto& [project, c] : t_.counts)
    s.active += static_cast<std::uint64_t>(c.active);
  s.results = t_.results.size();
  s.last_lsn = t_.lsn;
  s.epoch = 1;
  return s;
}

} // namespace lycosa::storage
