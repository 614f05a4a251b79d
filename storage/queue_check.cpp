#include "storage/queue_check.hpp"

#include "storage/keys.hpp"

namespace lycosa::storage {

namespace {

class queue_check {
public:
  queue_check(const lmdb_shard& shard, MDB_txn* txn,
              const std::function<void(const std::string&)>& problem)
      : s_(shard), txn_(txn), problem_(problem) {}

  int run() {
    auto rows = s_.read_orders(txn_);
    if (!rows) {
      problem_(rows.error().text());
      return 0;
    }
    rows_ = std::move(*rows);
    if (int rc = look_at_entries(); rc != 0) return rc;
    for (const auto& [project, row] : rows_)
      if (row.follows())
        if (int rc = look_at_tasks(project, row.from); rc != 0) return rc;
    return 0;
  }

private:
  using table = lmdb_shard::table;

  static std::string name_of(project_id p) {
    return "project " + std::to_string(static_cast<std::uint32_t>(p));
  }

  /// What `active` says of the task, if it is there.
  std::optional<queue_position> place_of(project_id project, std::uint64_t seq) {
    const auto key = active_key(project, seq);
    auto k = lmdb::val(key);
    MDB_val v{};
    if (mdb_get(txn_, s_.env().table(table::active), &k, &v) != 0
        || v.mv_size != active_value::bytes)
      return std::nullopt;
    return active_value::read(v.mv_data);
  }

  int look_at_entries() {
    lmdb::cursor c;
    if (int rc = c.open(txn_, s_.env().table(table::queue)); rc != 0) return rc;
    MDB_val k{}, v{};
    int rc = c.seek(k, v, MDB_FIRST);
    std::optional<project_id> foreign;
    for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
      if (k.mv_size != key_bytes<32>().size()) {
        problem_("an entry of queue has a key of the wrong length");
        continue;
      }
      const auto entry = queue_entry_of(k.mv_data, s_.id().shard);
      const auto seq = entry.key.seq();
      if (!rows_.contains(entry.project)) {
        if (foreign != entry.project)
          problem_("queue has entries of " + name_of(entry.project)
                   + ", which is not kept in order");
        foreign = entry.project;
        continue;
      }
      const auto place = place_of(entry.project, seq);
      if (!place)
        problem_("queue points to task " + std::to_string(seq) + ", which is not ACTIVE");
      else if (queue_key(entry.project, *place, seq)
               != queue_key(entry.project, entry.position, seq))
        problem_("task " + std::to_string(seq) + " stands in queue where it is not");
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
  }

  int look_at_tasks(project_id project, std::uint64_t from) {
    lmdb::cursor c;
    if (int rc = c.open(txn_, s_.env().table(table::active)); rc != 0) return rc;
    const auto first = active_key(project, from);
    auto k = lmdb::val(first);
    MDB_val v{};
    int rc = c.seek(k, v, MDB_SET_RANGE);
    for (; rc == 0; rc = c.seek(k, v, MDB_NEXT)) {
      // Odd lengths are named by whoever looks at the tasks.
      if (k.mv_size != first.size() || v.mv_size != active_value::bytes) continue;
      const auto* key = static_cast<const std::byte*>(k.mv_data);
      if (get_big<std::uint32_t>(key) != static_cast<std::uint32_t>(project)) return 0;
      const auto seq = get_big<std::uint64_t>(key + 4);
      const auto place = queue_key(project, active_value::read(v.mv_data), seq);
      auto wanted = lmdb::val(place);
      MDB_val found{};
      const int there = mdb_get(txn_, s_.env().table(table::queue), &wanted, &found);
      if (there == MDB_NOTFOUND)
        problem_("task " + std::to_string(seq) + " is missing in the queue of " + name_of(project));
      else if (there != 0)
        return there;
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
  }

  const lmdb_shard& s_;
  MDB_txn* txn_;
  const std::function<void(const std::string&)>& problem_;
  order_rows rows_;
};

} // namespace

int check_queues(const lmdb_shard& shard, MDB_txn* txn,
                 const std::function<void(const std::string&)>& problem) {
  return shard.has_queue() ? queue_check(shard, txn, problem).run() : 0;
}

} // namespace lycosa::storage
