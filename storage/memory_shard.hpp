#pragma once

#include "storage/codec.hpp"
#include "storage/keys.hpp"
#include "storage/store.hpp"

#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <tuple>

namespace lycosa::storage {

/// A shard that lives as long as the process: for tests and for embedding without a disk. Answers
/// as the LMDB shard does, so that tests against it mean something; never runs out of space.
class memory_shard final : public shard_store {
public:
  explicit memory_shard(std::uint16_t shard) : shard_(shard) {}

  result<std::unique_ptr<write_txn>> begin() override;
  result<void> load(std::span<const task_key> keys, record_batch& out,
                    std::vector<task_key>* missing) override;
  result<void> find(std::span<const task_ref> refs,
                    std::span<std::optional<task_slot>> out) override;
  result<page<record_batch>> list(project_id project, std::optional<task_status> status,
                                  std::string_view cursor, std::size_t limit) override;
  result<std::vector<active_entry>> scan_active(project_id project, std::optional<task_key> after,
                                                std::size_t limit) override;
  result<order_state> order_of(project_id project) override;
  result<std::vector<active_entry>>
  queue_heads(project_id project, std::optional<std::int32_t> below, std::size_t limit) override;
  result<std::vector<active_entry>> scan_queue(project_id project, const active_entry& from,
                                               std::size_t limit) override;
  result<status_counts> counts(project_id project) override;
  result<std::optional<result_entry>> get_result(const task_ref& ref) override;
  result<page<std::vector<result_entry>>> list_results(project_id project, std::string_view cursor,
                                                       std::size_t limit) override;
  result<shard_stats> stats() override;
  [[nodiscard]] std::uint64_t epoch() const override { return 1; }

private:
  friend class memory_txn;
  using ref_id = std::pair<project_id, task_hash>;
  using bytes = std::shared_ptr<const std::vector<std::byte>>;

  struct stored {
    project_id project{};
    task_status status = task_status::active;
    queue_position position;
    bytes record;
  };
  /// All of the shard, and also the changes of a transaction: there an empty value means erased.
  struct tables {
    std::map<ref_id, std::optional<index_value>> index;
    std::map<std::uint64_t, std::optional<stored>> tasks;
    std::map<ref_id, std::optional<result_entry>> results;
    std::map<project_id, std::optional<order_row>> orders;
    std::map<project_id, status_counts> counts; // of a transaction: differences
    std::uint64_t next_seq = 1;
    std::uint64_t lsn = 0;
  };

  void apply(tables& changes);
  [[nodiscard]] bool in_order(project_id project) const;

  std::uint16_t shard_;
  mutable std::shared_mutex mutex_;
  tables t_;
  std::set<std::tuple<project_id, task_status, std::uint64_t>> by_status_;
  std::set<key_bytes<32>> queue_; // the ACTIVE ones in order, of all projects
};

} // namespace lycosa::storage
