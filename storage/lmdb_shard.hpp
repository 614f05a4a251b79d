#pragma once

#include "storage/codec.hpp"
#include "storage/disk_reserve.hpp"
#include "storage/meta.hpp"
#include "storage/store.hpp"

#include <atomic>

namespace lycosa::storage {

struct lmdb_shard_options {
  std::string dir; ///< of this shard; exists
  identity id;     ///< what its meta must say; for a new one, what it will say
  bool create = false;
  bool read_only = false;
  bool sync = true;
  std::uint64_t map_size = 0;
  std::uint64_t reserve_bytes = 0; ///< of the map, for settling commits; 96 pages to 1/8 of it
  std::uint64_t log_bytes = 0;     ///< of mutation batches to keep; 0 = no log
};

/// One shard in one LMDB environment. FORMAT.md describes every byte it writes.
class lmdb_shard final : public shard_store {
public:
  enum table : std::size_t { meta, tasks, index, active, settled, results, counts_, log };

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
  result<status_counts> counts(project_id project) override;
  result<std::optional<result_entry>> get_result(const task_ref& ref) override;
  result<page<std::vector<result_entry>>> list_results(project_id project, std::string_view cursor,
                                                       std::size_t limit) override;
  result<shard_stats> stats() override;
  bool release_reserve() override { return disk_ && disk_->release(); }
  [[nodiscard]] std::uint64_t epoch() const override { return id_.epoch; }

  [[nodiscard]] lmdb::env& env() { return *env_; }
  [[nodiscard]] const identity& id() const { return id_; }

  /// Numbers that every commit carries on; value of `meta` under "state".
  struct state {
    std::uint64_t lsn = 0;
    std::uint64_t next_seq = 1;
    std::uint64_t log_bytes = 0;

    static constexpr std::size_t bytes = 24;
    static constexpr std::string_view key = "state";
    void write(std::byte* at) const;
    static state read(const void* from);
  };

private:
  friend class lmdb_txn;
  lmdb_shard(lmdb_shard_options options, std::shared_ptr<disk_reserve> disk)
      : options_(std::move(options)), id_(options_.id), disk_(std::move(disk)) {}
  result<void> start();
  [[nodiscard]] std::string_view name() const { return env_->name(); }
  [[nodiscard]] std::uint64_t page_limit(const lmdb::page_use& use) const;

  lmdb_shard_options options_;
  identity id_;
  std::shared_ptr<disk_reserve> disk_;
  std::unique_ptr<lmdb::env> env_;

  // The writer's, kept between transactions for their memory.
  bool writing_ = false;
  state state_;
  task_encoder encoder_;
  std::vector<mutation> mutations_;

  std::atomic<std::uint64_t> last_lsn_{0};
  std::atomic<std::uint64_t> refused_pages_{0}; // what the map had no room for; 0 = nothing refused
};

/// `index` look-ups through an open cursor, in key order whatever the order of `refs`.
result<void> find_slots(MDB_cursor* index, std::string_view name, std::uint16_t shard,
                        std::span<const task_ref> refs, std::span<std::optional<task_slot>> out);

} // namespace lycosa::storage
