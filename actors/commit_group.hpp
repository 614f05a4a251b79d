#pragma once

#include "actors/interfaces.hpp"
#include "core/lifecycle.hpp"
#include "storage/store.hpp"

#include <string_view>
#include <vector>

namespace lycosa::actors {

/// Operations gathered for one transaction of a shard, and the rules for carrying them out.
/// Owned by the shard writer; knows no CAF message passing, so it is tested against a store alone.
///
/// If the store is out of space, what takes in new work fails with `no_space` and what finishes
/// work is tried again alone, with the reserve: a full disk stops producers, not consumers.
class commit_group {
public:
  commit_group(storage::shard_store& store, retry_policy default_retry)
      : store_(store), default_retry_(std::move(default_retry)) {}

  void add(submit_op_ptr op, project_actor from);
  void add(report_op_ptr op, project_actor from);
  void add(result_op_ptr op);
  void add(erase_op_ptr op, project_actor from);
  void add(order_op_ptr op, project_actor from);

  /// How many single changes have been gathered.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Carries everything out in one commit and fills in the operations' outcomes. Never throws;
  /// each operation ends with outcomes or with `failure`.
  void commit(wall_time now);

  /// How long that waited for the disk; zero if nothing was written.
  [[nodiscard]] usec synced() const { return synced_; }

  struct from_submit {
    submit_op_ptr op;
    project_actor from;
  };
  struct from_report {
    report_op_ptr op;
    project_actor from;
  };
  struct from_erase {
    erase_op_ptr op;
    project_actor from;
  };
  struct from_order {
    order_op_ptr op;
    project_actor from;
  };
  std::vector<from_submit> submits;
  std::vector<from_report> reports;
  std::vector<result_op_ptr> results;
  std::vector<std::optional<error>> result_failures; ///< answers `results`
  std::vector<from_erase> erases;
  std::vector<from_order> orders;

  /// Forgets everything gathered.
  void clear();

private:
  result<void> attempt(wall_time now, bool with_growth);
  result<void> run(storage::write_txn& txn, erase_op& op);
  result<void> run(storage::write_txn& txn, submit_op& op);
  result<void> run_one(storage::write_txn& txn, submit_op& op, std::size_t i,
                       const std::optional<task_slot>& slot);
  result<void> import_one(storage::write_txn& txn, submit_op& op, std::size_t i,
                          const std::optional<task_slot>& slot);
  result<void> run(storage::write_txn& txn, report_op& op, wall_time now);
  result<void> run_one(storage::write_txn& txn, report_op& op, std::size_t i, wall_time now);
  void refuse_growth(const error& why);
  void refuse_all(const error& why);

  storage::shard_store& store_;
  retry_policy default_retry_;
  std::size_t size_ = 0;
  usec synced_{0};
  // reused from batch to batch
  std::vector<storage::task_ref> refs_;
  std::vector<std::optional<task_slot>> slots_;
  std::vector<std::uint32_t> order_;
};

} // namespace lycosa::actors
