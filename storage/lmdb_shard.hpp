#pragma once

#include "storage/codec.hpp"
#include "storage/disk_reserve.hpp"
#include "storage/index_merge.hpp"
#include "storage/keys.hpp"
#include "storage/meta.hpp"
#include "storage/store.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <shared_mutex>
#include <vector>

namespace lycosa::storage {

struct lmdb_shard_options {
  std::string dir; ///< of this shard; exists
  identity id;     ///< what its meta must say; for a new one, what it will say
  bool create = false;
  bool read_only = false;
  bool sync = true;
  std::uint64_t map_size = 0;
  std::uint64_t reserve_bytes = 0; ///< of the map, for settling commits; 96 pages to 1/8 of it
  /// Of mutation batches to keep, besides those that the index needs; 0 = none.
  std::uint64_t log_bytes = 0;
  /// Changes of the index that may wait, about; bounded by the map too.
  std::size_t index_buffer = 1'000'000;
  /// Open already, with all tables: of a replica. Null = open `dir`.
  std::shared_ptr<lmdb::env> env = nullptr;
};

/// Tables of a shard's environment, in the order of `lmdb_shard::table`.
[[nodiscard]] std::vector<const char*> shard_tables();

/// The projects whose queues are kept in order, or are on the way there or back.
using order_rows = boost::unordered_flat_map<project_id, order_row, std::hash<project_id>>;

/// One shard in one LMDB environment. FORMAT.md describes every byte it writes.
class lmdb_shard final : public shard_store {
public:
  enum table : std::size_t {
    meta,
    tasks,
    hashes,
    active,
    settled,
    results,
    counts_,
    log,
    queue,
    ordering
  };

  /// Opens or creates the environment; when writable, commits the next epoch before it returns.
  static result<std::unique_ptr<lmdb_shard>> open(lmdb_shard_options options,
                                                  std::shared_ptr<disk_reserve> disk);

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
  bool release_reserve() override { return disk_ && disk_->release(); }
  [[nodiscard]] usec last_sync() const override { return last_sync_; }
  [[nodiscard]] std::uint64_t epoch() const override { return id_.epoch; }

  [[nodiscard]] lmdb::env& env() const { return *env_; }
  [[nodiscard]] const identity& id() const { return id_; }

  /// The key of an entry of `hashes`, or of `index` in a directory of an older format that is only
  /// read.
  [[nodiscard]] key_bytes<20> entry_key(const task_ref& r) const {
    return old_index_ ? ref_key(r) : hash_key(r);
  }
  [[nodiscard]] task_ref entry_ref(const void* key) const {
    return old_index_ ? ref_of(key) : ref_of_hash_key(key);
  }
  /// What waits to be merged into `hashes`, as a snapshot's log has it.
  result<void> read_waiting(MDB_txn* txn, index_buffer& into) const;

  /// The rows of `ordering`, as a snapshot has them. `corrupt` when one cannot be read.
  result<order_rows> read_orders(MDB_txn* txn) const;
  /// Whether `queue` and `ordering` are there: not in a directory of an older format that is only
  /// read.
  [[nodiscard]] bool has_queue() const { return has_queue_; }

  /// Numbers that every commit carries on; value of `meta` under "state".
  struct state {
    std::uint64_t lsn = 0;
    std::uint64_t next_seq = 1;
    std::uint64_t log_bytes = 0;
    std::uint64_t index_from = 1; ///< oldest log record with changes that `hashes` lacks

    static constexpr std::size_t bytes = 32;
    static constexpr std::size_t bytes_of_format_4 = 24; ///< no `index_from`
    static constexpr std::string_view key = "state";
    void write(std::byte* at) const;
  };
  /// `corrupt` when it is missing or of another length.
  result<state> read_state(MDB_txn* txn) const;

private:
  friend class lmdb_txn;
  lmdb_shard(lmdb_shard_options options, std::shared_ptr<disk_reserve> disk)
      : options_(std::move(options)), id_(options_.id), disk_(std::move(disk)) {}
  result<void> start();
  result<void> load_state(MDB_txn* txn);
  result<order_state> order_in(MDB_txn* txn, project_id project) const;
  result<void> open_queue(MDB_txn* txn, project_id project, lmdb::cursor& c) const;
  [[nodiscard]] merge_limits limits(MDB_txn* txn) const;
  [[nodiscard]] std::string_view name() const { return env_->name(); }
  [[nodiscard]] std::uint64_t page_limit(const lmdb::page_use& use) const;
  /// Free pages of the file that growing commits may take when the disk has no room.
  result<std::uint64_t> spare_pages();
  [[nodiscard]] std::uint64_t spare_pages(const lmdb::page_use& counted) const;

  lmdb_shard_options options_;
  identity id_;
  std::shared_ptr<disk_reserve> disk_;
  std::shared_ptr<lmdb::env> env_;

  // The writer's, kept between transactions for their memory.
  bool writing_ = false;
  bool old_index_ = false;
  bool has_queue_ = true;
  std::uint64_t generation_ = 0; ///< of the environment, when `state_` was read
  state state_;
  merge_pace pace_;
  order_rows orders_;
  task_encoder encoder_;
  std::vector<mutation> mutations_;
  usec last_sync_{0};

  // Changed by the writer alone, after each commit; other threads look under the lock.
  index_buffer waiting_;
  mutable std::shared_mutex waiting_mutex_;

  std::atomic<std::uint64_t> last_lsn_{0};
  std::uint64_t spare_pages_ = 0; // of the last walk, less what has been taken; the writer's
  // What the map, or the disk, had no room for; 0 = nothing refused.
  std::atomic<std::uint64_t> refused_pages_{0}, refused_disk_pages_{0};
};

/// Answers those of `refs` for which `waiting` has a change; returns the places of the others.
template <class Waiting>
std::vector<std::uint32_t> answer_waiting(Waiting&& waiting, std::uint16_t shard,
                                          std::span<const task_ref> refs,
                                          std::span<std::optional<task_slot>> out) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < refs.size(); ++i) {
    const index_change* change = waiting(refs[i]);
    if (change == nullptr)
      others.push_back(i);
    else
      out[i] = change->erased ? std::nullopt : std::optional(change->value.slot(shard));
  }
  return others;
}

/// Looks up those of `refs` that `wanted` names, through an open cursor of `hashes`, in key order.
result<void> find_slots(MDB_cursor* hashes, const lmdb_shard& shard, std::span<const task_ref> refs,
                        std::vector<std::uint32_t> wanted, std::span<std::optional<task_slot>> out);

} // namespace lycosa::storage
