#pragma once

#include "storage/keys.hpp"
#include "storage/lmdb_shard.hpp"

#include <map>

namespace lycosa::storage {

/// One transaction of a shard. Cursors stay open through it: a batch of thousands of changes goes
/// back and forth between the same tables.
class lmdb_txn final : public write_txn {
public:
  lmdb_txn(lmdb_shard& store, MDB_txn* txn);
  ~lmdb_txn() override;
  result<void> open_cursors();

  result<void> find(std::span<const task_ref> refs,
                    std::span<std::optional<task_slot>> out) override;
  result<std::optional<queue_position>> load(task_key key, record_batch& out) override;
  result<task_key> insert(const task_ref& ref, const task& record,
                          const queue_position& position) override;
  result<void> update(const task_ref& ref, task_key key, task_status old, const task& record,
                      const queue_position& position) override;
  result<void> put_result(const task_ref& ref, const result_entry& entry) override;
  result<std::size_t> erase_some(project_id project, std::size_t limit) override;
  result<sweep_outcome> erase_settled(project_id project, const settled_sweep& sweep,
                                      std::size_t limit) override;
  result<order_step> keep_in_order(project_id project, bool wanted, std::size_t limit) override;
  result<std::uint64_t> commit(commit_class kind) override;

private:
  using table = lmdb_shard::table;

  tl::unexpected<error> failure(int rc);
  tl::unexpected<error> failure(error e);
  result<void> usable() const;
  template <class Key, class Write>
  int put(table t, const Key& key, std::size_t size, unsigned flags, Write&& write);
  template <class Key>
  int erase(table t, const Key& key);
  int erase_current(table t) { return store_.env_->erase(cursors_[t], t); }
  int place(const task_ref& ref, std::uint64_t seq, task_status status, const queue_position& p);
  int displace(const task_ref& ref, std::uint64_t seq, task_status status);
  int erase_task(std::uint64_t seq, task_status status, project_id project);
  int look_at_record(std::uint64_t seq, bool& there, std::optional<task_brief>& brief);
  int erase_record(std::uint64_t seq, task_status status, const task_brief& brief);
  int next_settled(project_id project, task_status status, std::uint64_t after,
                   std::optional<std::uint64_t>& seq);
  int erase_settled_task(project_id project, task_status status, std::uint64_t seq,
                         wall_time older_than, bool& gone);
  result<std::size_t> erase_listed(table t, project_id project, std::size_t limit);
  result<std::size_t> erase_results(project_id project, std::size_t limit);
  [[nodiscard]] const index_change* waiting(const task_ref& ref) const;
  int sweep(table t, project_id project);
  status_counts& delta(project_id project);

  [[nodiscard]] const order_row* order_of(project_id project) const;
  int enter_queue(project_id project, std::uint64_t seq, const queue_position& p);
  int leave_queue(project_id project, std::uint64_t seq, const MDB_val& place,
                  const key_bytes<32>* unless = nullptr);
  int take_in(project_id project, order_row& row, std::size_t limit, std::size_t& looked);
  int drop_queue(project_id project, std::size_t limit, std::size_t& looked, bool& empty);
  int write_order(project_id project, const std::optional<order_row>& row);

  result<void> write_counts();
  int place_index(const merge_plan& plan);
  void keep_waiting(const merge_plan& plan);
  int write_log(const merge_plan& plan);
  int trim_log();
  int write_state();
  result<void> check_space(commit_class kind);

  lmdb_shard& store_;
  MDB_txn* txn_;
  std::array<lmdb::cursor, 10> cursors_;
  lmdb_shard::state state_;
  std::vector<mutation>& mutations_;
  index_changes fresh_; // of the index, by this transaction
  task_refs unknown_;   // what `find` did not find: an insert need not look again
  std::map<project_id, status_counts> deltas_;
  std::pair<project_id, status_counts*> last_delta_{};
  std::optional<order_rows> orders_; // as this transaction leaves them, when it changes any
  std::uint64_t new_bytes_ = 0;      // records, results and log batches written
  std::uint64_t old_pages_ = 0;      // at most so many existing pages changed
  bool changed_ = false;             // something that leaves no mutation
  std::optional<error> failed_;
};

template <class Key, class Write>
int lmdb_txn::put(table t, const Key& key, std::size_t size, unsigned flags, Write&& write) {
  auto k = lmdb::val(key);
  MDB_val v{size, nullptr};
  const int rc = mdb_cursor_put(cursors_[t].get(), &k, &v, flags | MDB_RESERVE);
  if (rc != 0) return rc;
  write(static_cast<std::byte*>(v.mv_data));
  if (auto* changes = store_.env_->changes()) changes->put(t, lmdb::text(k), lmdb::text(v));
  return 0;
}

template <class Key>
int lmdb_txn::erase(table t, const Key& key) {
  auto k = lmdb::val(key);
  MDB_val v{};
  if (int rc = cursors_[t].seek(k, v, MDB_SET); rc != 0) return rc;
  return erase_current(t);
}

} // namespace lycosa::storage
