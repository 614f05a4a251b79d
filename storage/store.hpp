#pragma once

#include "core/placement.hpp"
#include "core/result.hpp"
#include "core/retention.hpp"
#include "core/task.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the scheduler asks of its storage, and all it asks. One `shard_store` keeps one shard; a
/// `catalog_store` (catalog.hpp) keeps what belongs to the node. Two implementations pass the same
/// contract suite: LMDB (the product) and memory (tests, embedding without a disk).
namespace lycosa::storage {

/// Names one task to the index.
struct task_ref {
  project_id project;
  task_hash hash;
};

/// Loaded records. The views stay valid as long as the batch (it may be moved): they point into
/// blocks the batch owns.
class record_batch {
public:
  struct item {
    task_key key;
    project_id project{};
    task record; ///< `record.project` is not filled in: the store knows ids, not names
  };
  std::vector<item> items;

  /// Gives the batch memory that its views point into. Addresses of earlier blocks do not change.
  std::byte* allocate(std::size_t bytes);

private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t used_ = 0;
  std::size_t capacity_ = 0;
};

struct active_entry {
  project_id project{};
  task_key key;
  queue_position position;
};

/// One step towards a queue that is kept in order on disk, or no longer.
struct order_step {
  bool done = false;      ///< the state asked for is reached
  std::size_t looked = 0; ///< tasks taken in, or entries taken out
};

/// A page of a listing; `next` is opaque, empty at the end.
template <class T>
struct page {
  T items;
  std::string next;
};

struct result_entry {
  std::string taskid;
  std::string json;
  wall_time updatetime{};
};

/// Which part of the reserve a commit may use when the disk or the map is nearly full.
enum class commit_class {
  growth, ///< takes in new work: refused with `no_space` while the store is low on space
  settle, ///< finishes work (reports, deletions): may use the reserve
};

/// One atomic change of a shard. It sees its own changes; nobody else does until `commit`.
/// At most one exists per shard at a time; destroying it without commit leaves no trace.
/// Every failed call leaves the transaction unusable except for destruction.
class write_txn {
public:
  virtual ~write_txn() = default;

  /// Looks up tasks; `out[i]` answers `refs[i]`. Cheapest when refs are sorted.
  virtual result<void> find(std::span<const task_ref> refs,
                            std::span<std::optional<task_slot>> out) = 0;

  /// Reads one record, and where it is queued if it is ACTIVE. `corrupt` when it does not decode,
  /// `not_found` when the key is unknown.
  virtual result<std::optional<queue_position>> load(task_key key, record_batch& out) = 0;

  /// Adds an unknown task and returns where it lives; `position` counts when it is ACTIVE.
  /// Precondition: `find` said unknown.
  virtual result<task_key> insert(const task_ref& ref, const task& record,
                                  const queue_position& position) = 0;

  /// Replaces the record at `key`. `old` is its status before; `position` is required when
  /// `record.status` is ACTIVE and ignored otherwise. Keeps index, listings and counts in step.
  virtual result<void> update(const task_ref& ref, task_key key, task_status old,
                              const task& record, const queue_position& position) = 0;

  /// Stores or replaces the result of a task. The task need not exist.
  virtual result<void> put_result(const task_ref& ref, const result_entry& entry) = 0;

  /// Removes up to `limit` tasks and results of a project; returns how many. 0 = nothing is left.
  /// With the tasks go their entries of a queue in order, and at the end the wish for it.
  virtual result<std::size_t> erase_some(project_id project, std::size_t limit) = 0;

  /// Removes up to `limit` settled tasks of a project, and looks at no more than four times as many
  /// by age. Their results stay.
  virtual result<sweep_outcome> erase_settled(project_id project, const settled_sweep& sweep,
                                              std::size_t limit) = 0;

  /// Takes one step towards keeping the project's queue in order on disk (`wanted`) or no longer;
  /// looks at no more than `limit` tasks. `done` at once, and without a change, when it is so
  /// already. Tasks may come and go between the steps. Wanted again while it is being removed, it
  /// is built anew; no longer wanted while it is being built, it is removed.
  virtual result<order_step> keep_in_order(project_id project, bool wanted, std::size_t limit) = 0;

  /// Makes everything durable (storage.durability decides what that means) and returns the log
  /// sequence number. On `no_space` and `io_error` nothing of the transaction has happened.
  virtual result<std::uint64_t> commit(commit_class kind) = 0;
};

struct shard_stats {
  std::uint64_t tasks = 0;
  std::uint64_t active = 0;
  std::uint64_t results = 0;
  std::uint64_t last_lsn = 0;
  std::uint64_t epoch = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0; ///< pages in use, without reusable ones
  std::uint64_t map_bytes = 0;
  bool low_space = false; ///< growth commits are being refused
};

/// One shard. `begin` and what it returns belong to one thread (the shard's writer); every other
/// member may be called from any thread, also while a transaction is open, and sees the last
/// committed state.
class shard_store {
public:
  virtual ~shard_store() = default;

  virtual result<std::unique_ptr<write_txn>> begin() = 0;

  /// Loads records by key, in the order asked. Unknown or unreadable keys are left out of `out`
  /// and, when `missing` is given, added to it.
  virtual result<void> load(std::span<const task_key> keys, record_batch& out,
                            std::vector<task_key>* missing) = 0;

  /// Looks up tasks in the committed state; `out[i]` answers `refs[i]`.
  virtual result<void> find(std::span<const task_ref> refs,
                            std::span<std::optional<task_slot>> out) = 0;

  /// Records of one project, in order of arrival in this shard, of one status or (none) of all.
  virtual result<page<record_batch>> list(project_id project, std::optional<task_status> status,
                                          std::string_view cursor, std::size_t limit) = 0;

  /// Queue entries of one project in key order, starting after `after`; at most `limit`.
  virtual result<std::vector<active_entry>>
  scan_active(project_id project, std::optional<task_key> after, std::size_t limit) = 0;

  /// How far the project's queue is kept in order.
  virtual result<order_state> order_of(project_id project) = 0;

  /// The first entry of each priority of a queue that is kept in order, higher priorities first,
  /// of those below `below` alone when it is given; at most `limit`. Its cost is that of the
  /// priorities, not of the entries. `conflict` when the queue is not, or not yet, kept in order.
  virtual result<std::vector<active_entry>>
  queue_heads(project_id project, std::optional<std::int32_t> below, std::size_t limit) = 0;

  /// Entries of the priority of `from`, in the order due, arrival, key, from its place on; at most
  /// `limit`. `from` need not be there; of its key the place within this shard counts. `conflict`
  /// as above.
  virtual result<std::vector<active_entry>> scan_queue(project_id project, const active_entry& from,
                                                       std::size_t limit) = 0;

  virtual result<status_counts> counts(project_id project) = 0;

  virtual result<std::optional<result_entry>> get_result(const task_ref& ref) = 0;
  virtual result<page<std::vector<result_entry>>>
  list_results(project_id project, std::string_view cursor, std::size_t limit) = 0;

  virtual result<shard_stats> stats() = 0;

  /// Gives up the space held back for `settle` commits. True when that freed something, so that a
  /// `settle` transaction refused with `no_space` is worth replaying once. The reserve comes back
  /// by itself when there is room again.
  virtual bool release_reserve() { return false; }

  /// How long the last commit waited for the disk: for its pages to be written and synced. Zero if
  /// nothing had to be. Of the writer's thread.
  [[nodiscard]] virtual usec last_sync() const { return usec{0}; }

  /// +1 with every opening of the data directory; part of every lease token.
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;
};

} // namespace lycosa::storage
