#include "storage/maintenance.hpp"

#include "storage/job_check.hpp"
#include "storage/keys.hpp"
#include "storage/lmdb_catalog.hpp"
#include "storage/lmdb_shard.hpp"
#include "storage/queue_check.hpp"

#include <map>
#include <set>

namespace lycosa::storage {

namespace {

/// Looks through one shard within one snapshot.
class shard_check {
public:
  shard_check(lmdb_shard& shard, check_report& report) : s_(shard), r_(report) {}

  result<void> run() {
    auto txn = s_.env().read();
    if (!txn) return tl::unexpected(txn.error());
    txn_ = txn->get();
    if (auto ok = s_.read_waiting(txn_, waiting_); !ok) {
      problem(ok.error().text());
      return {};
    }
    for (int rc : {look_at_tasks(), look_back(table::hashes), look_back(table::active),
                   look_back(table::settled),
                   check_queues(s_, txn_, [this](const std::string& text) { problem(text); }),
                   look_at_results(), look_at_counts(), look_at_log()})
      if (rc != 0 && rc != MDB_NOTFOUND) return lmdb::failed(rc, s_.env().name());
    return {};
  }

  [[nodiscard]] const std::set<project_id>& projects() const { return projects_; }

private:
  using table = lmdb_shard::table;

  void problem(const std::string& text) {
    r_.ok = false;
    ++r_.problem_count;
    if (r_.problems.size() < 100)
      r_.problems.push_back("shard " + std::to_string(s_.id().shard) + ": " + text);
  }

  template <class Key>
  int get(table t, const Key& key, MDB_val& v) {
    auto k = lmdb::val(key);
    return mdb_get(txn_, s_.env().table(t), &k, &v);
  }

  template <class Each>
  int each(table t, Each&& look) {
    lmdb::cursor c;
    if (int rc = c.open(txn_, s_.env().table(t)); rc != 0) return rc;
    MDB_val k{}, v{};
    int rc = c.seek(k, v, MDB_FIRST);
    for (; rc == 0; rc = c.seek(k, v, MDB_NEXT))
      look(k, v);
    return rc;
  }

  /// As a node sees it: what waits in the log on top of the table.
  std::optional<index_value> index_entry(const task_ref& ref) {
    if (const auto* change = waiting_.find(ref))
      return change->erased ? std::nullopt : std::optional(change->value);
    MDB_val v{};
    if (get(table::hashes, s_.entry_key(ref), v) != 0) return std::nullopt;
    return index_value::read(lmdb::bytes(v));
  }

  /// How many entries the index has with what waits.
  std::uint64_t index_entries(std::uint64_t placed) {
    for (std::size_t i = 0; i < index_buffer::slices; ++i)
      for (const auto& [ref, change] : waiting_.slice(i)) {
        MDB_val v{};
        const bool there = get(table::hashes, s_.entry_key(ref), v) == 0;
        placed += !there && !change.erased ? 1 : 0;
        placed -= there && change.erased ? 1 : 0;
      }
    return placed;
  }

  int look_at_tasks() {
    std::vector<std::uint64_t> aligned;
    return each(table::tasks, [&](const MDB_val& k, const MDB_val& v) {
      if (k.mv_size != 8) return problem("an entry of tasks has a key of the wrong length");
      const auto seq = get_big<std::uint64_t>(k.mv_data);
      last_seq_ = seq;
      const auto name = "task " + std::to_string(seq);
      ++r_.tasks;
      aligned.resize((v.mv_size + 7) / 8);
      std::memcpy(aligned.data(), v.mv_data, v.mv_size);
      auto task = decode_task({reinterpret_cast<const std::byte*>(aligned.data()), v.mv_size});
      if (!task) return problem(name + ": " + task.error().text());
      projects_.insert(task->project);
      const auto status = task->record.status;
      ++count_of(counted_[task->project], status);
      const bool queued = status == task_status::active;
      ++(queued ? r_.active : r_.settled);
      ++(queued ? active_ : settled_);
      const auto entry = index_entry({task->project, task->hash});
      if (!entry)
        problem(name + " has no index entry");
      else if (!(*entry == index_of(task->record, seq)))
        problem(name + " and its index entry differ");
      MDB_val found{};
      const int placed = queued
                             ? get(table::active, active_key(task->project, seq), found)
                             : get(table::settled, settled_key(task->project, status, seq), found);
      if (placed != 0)
        problem(name + (queued ? " is ACTIVE but not queued" : " is settled but not listed"));
      else if (queued && found.mv_size != active_value::bytes)
        problem(name + ": its queue entry has the wrong length");
    });
  }

  /// Every record has its entry, so a table with as many entries has no others.
  int look_back(table t) {
    MDB_stat stat{};
    if (int rc = mdb_stat(txn_, s_.env().table(t), &stat); rc != 0) return rc;
    const bool by_name = t == table::hashes;
    const auto expected = by_name ? active_ + settled_ : t == table::active ? active_ : settled_;
    const std::uint64_t entries = by_name ? index_entries(stat.ms_entries) : stat.ms_entries;
    if (entries == expected) return 0;
    const char* name = by_name ? "index" : t == table::active ? "active" : "settled";
    problem(std::string(name) + " has " + std::to_string(entries) + " entries for "
            + std::to_string(expected) + " records");
    return each(t, [&](const MDB_val& k, const MDB_val& v) {
      const auto* key = static_cast<const std::byte*>(k.mv_data);
      if (k.mv_size < 12) return problem(std::string(name) + " has a key of the wrong length");
      if (by_name && (k.mv_size != 20 || waiting_.find(s_.entry_ref(key)) != nullptr)) return;
      const auto seq = by_name ? index_value::read(lmdb::bytes(v)).value_or(index_value{}).seq
                               : get_big<std::uint64_t>(key + k.mv_size - 8);
      MDB_val record{};
      if (get(table::tasks, seq_key(seq), record) != 0)
        problem(std::string(name) + " points to task " + std::to_string(seq)
                + ", which does not exist");
    });
  }

  int look_at_results() {
    return each(table::results, [&](const MDB_val& k, const MDB_val& v) {
      ++r_.results;
      result_entry e;
      if (k.mv_size != 20 || !result_value::read(lmdb::text(v), e))
        return problem("a result does not decode");
      projects_.insert(ref_of(k.mv_data).project);
    });
  }

  int look_at_counts() {
    const int rc = each(table::counts_, [&](const MDB_val& k, const MDB_val& v) {
      if (k.mv_size != 4 || !counts_value::fits(v.mv_size))
        return problem("an entry of counts has the wrong length");
      const auto project = project_id{get_big<std::uint32_t>(k.mv_data)};
      auto stored = counts_value::read(v.mv_data, v.mv_size);
      auto counted = counted_[project];
      counted_.erase(project);
      for (auto s : all_statuses)
        if (count_of(stored, s) != count_of(counted, s))
          problem("project " + std::to_string(static_cast<std::uint32_t>(project)) + " counts "
                  + std::to_string(count_of(stored, s)) + " tasks of status "
                  + std::to_string(static_cast<int>(s)) + ", there are "
                  + std::to_string(count_of(counted, s)));
    });
    for (const auto& [project, c] : counted_)
      problem("project " + std::to_string(static_cast<std::uint32_t>(project)) + " has no counts");
    return rc;
  }

  int look_at_log() {
    const auto found = s_.read_state(txn_);
    if (!found) {
      problem(found.error().why);
      return 0;
    }
    const auto& state = *found;
    if (state.next_seq <= last_seq_) problem("the next sequence number is already used");
    std::vector<std::byte> batch;
    std::uint64_t lsn = 0, bytes = 0;
    std::uint16_t part = 0;
    const auto finish = [&] {
      if (lsn == 0) return;
      ++r_.log_batches;
      auto decoded = decode_mutations(batch);
      if (!decoded)
        problem("log " + std::to_string(lsn) + ": " + decoded.error().text());
      else if (decoded->lsn != lsn || decoded->epoch > s_.epoch())
        problem("log " + std::to_string(lsn) + " says another number or epoch");
      batch.clear();
    };
    const int rc = each(table::log, [&](const MDB_val& k, const MDB_val& value) {
      if (k.mv_size != 10) return problem("an entry of log has a key of the wrong length");
      const auto n = get_big<std::uint64_t>(k.mv_data);
      const auto p = get_big<std::uint16_t>(static_cast<const std::byte*>(k.mv_data) + 8);
      if (n != lsn) {
        finish();
        if (p != 0) problem("log " + std::to_string(n) + " has no beginning");
        lsn = n;
      } else if (p != part + 1) {
        problem("log " + std::to_string(n) + " has a gap");
      }
      part = p;
      bytes += value.mv_size;
      const auto b = lmdb::bytes(value);
      batch.insert(batch.end(), b.begin(), b.end());
    });
    finish();
    if (lsn > state.lsn) problem("the log is ahead of its counter");
    if (lsn != 0 && bytes != state.log_bytes) problem("the log's size is not what it should be");
    return rc;
  }

  lmdb_shard& s_;
  check_report& r_;
  MDB_txn* txn_ = nullptr;
  index_buffer waiting_;
  std::map<project_id, status_counts> counted_;
  std::set<project_id> projects_;
  std::uint64_t last_seq_ = 0, active_ = 0, settled_ = 0;
};

open_options for_reading(const std::string& dir) {
  open_options o;
  o.dir = dir;
  o.create = false;
  o.read_only = true;
  return o;
}

} // namespace

result<check_report> check_data_dir(const std::string& dir) {
  check_report report;
  const auto give_up = [&](const error& e) {
    report.ok = false;
    ++report.problem_count;
    report.problems.push_back(e.text());
    return report;
  };
  auto opened = open_data_dir(for_reading(dir));
  if (!opened) {
    if (opened.error().code == errc::not_found) return tl::unexpected(opened.error());
    return give_up(opened.error());
  }
  std::set<project_id> used;
  for (auto& store : (*opened)->shards) {
    ++report.shards;
    shard_check check(dynamic_cast<lmdb_shard&>(*store), report);
    if (auto ok = check.run(); !ok) return give_up(ok.error());
    used.insert(check.projects().begin(), check.projects().end());
  }
  // After the shards: a project is in the catalog before it has its first task.
  auto projects = (*opened)->catalog->projects();
  if (!projects) return give_up(projects.error());
  report.projects = projects->size();
  for (const auto& p : *projects)
    used.erase(p.id);
  for (auto id : used)
    give_up({errc::corrupt, "project " + std::to_string(static_cast<std::uint32_t>(id)),
             "has tasks or results but is not in the catalog"});
  auto& catalog = dynamic_cast<lmdb_catalog&>(*(*opened)->catalog);
  if (auto ok = check_jobs(catalog, report); !ok) return give_up(ok.error());
  return report;
}

result<dir_stats> stats_data_dir(const std::string& dir) {
  auto opened = open_data_dir(for_reading(dir));
  if (!opened) return tl::unexpected(opened.error());
  dir_stats out;
  auto& catalog = dynamic_cast<lmdb_catalog&>(*(*opened)->catalog);
  out.format = catalog.id().format;
  out.epoch = catalog.id().epoch;
  auto projects = catalog.projects();
  if (!projects) return tl::unexpected(projects.error());
  out.projects = projects->size();
  auto bytes = catalog.env().file_bytes();
  if (!bytes) return tl::unexpected(bytes.error());
  out.catalog_bytes = *bytes;
  for (auto& shard : (*opened)->shards) {
    auto s = shard->stats();
    if (!s) return tl::unexpected(s.error());
    out.shards.push_back(*s);
  }
  return out;
}

} // namespace lycosa::storage
