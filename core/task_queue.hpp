#pragma once

#include "core/chunked_array.hpp"
#include "core/indexed_heap.hpp"
#include "core/lease.hpp"
#include "core/slot_table.hpp"
#include "core/task.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lycosa {

/// What `put` and `reposition` did.
enum class put_outcome {
  queued,   ///< was unknown
  moved,    ///< was waiting: its position changed (or was confirmed)
  deferred, ///< is handed out: the position counts from the end of the lease
  full,     ///< half a billion entries are queued; nothing happened
};

/// Whether a report may settle a task.
enum class lease_verdict {
  ok,
  stale,      ///< of an older lease, or a report of this one is being committed
  not_leased, ///< no lease was named, and the task is waiting to be handed out
  unknown,    ///< the task is not queued
};

/// What a task was handed out as.
struct queue_lease {
  task_key key;
  std::uint32_t number = 0;
  wall_time due{}; ///< since when it could have been handed out
};

/// One entry as an operator sees it.
struct queue_view {
  queue_state state = queue_state::ready;
  queue_position position;
  std::uint32_t lease = 0; ///< 0 = never handed out, or given back
  bool recovered = false;  ///< was queued when the node started, and not handed out since
  wall_time deadline{};    ///< processing: end of the lease
  std::string consumer;    ///< processing: who holds it
  std::optional<queue_position> after; ///< processing: where it goes when the lease ends
};

/// The queue of one project: what is ready, what waits for its moment, what is handed out.
///
/// Order of the ready: priority (higher first), then due, then arrival. A change of any of them
/// re-sorts at once. Every operation is O(log n) in the number of entries; none scans.
/// No clock is read, nothing throws but an allocation that fails.
///
/// Memory of a waiting entry: slot 40 B + hash bucket 4 B (4 to 8 B while shrinking) + heap
/// handle 4 B + chunk headers and chunk pointers < 0.2 B = 48.2 B, at most 52.2 B. All of it grows
/// in chunks of 4 to 10 KiB, so there is no moment at which two copies exist. An entry that is
/// handed out costs 96 B more, for as long as it is.
///
/// Invariants:
///  - an entry is in exactly one of: the ready heap, the delayed heap, or (processing, settling)
///    the side table of leases; of the latter only the processing are in the deadline heap;
///  - `lease` of an entry is the number a report must name; it is 0 when no lease counts;
///  - recovered implies lease == 0;
///  - ready + delayed + processing (with settling) == size.
class task_queue {
public:
  /// `last_lease`: leases are numbered from the one after it. A queue that is rebuilt while the
  /// node runs must go on where the old one was, so that no two leases of an epoch are alike.
  explicit task_queue(std::uint32_t last_lease = 0) : last_lease_(last_lease) {}
  task_queue(const task_queue&) = delete;
  task_queue& operator=(const task_queue&) = delete;

  // -- in and out ------------------------------------------------------------------------------

  /// Queues a task. A known one keeps the higher priority and the earlier due of both and its
  /// arrival; while it is handed out that is remembered for the end of the lease.
  /// `recovered`: it was queued before the node started, perhaps handed out.
  put_outcome put(task_key key, const queue_position& at, wall_time now, bool recovered = false);

  /// Queues a task if it is unknown; false if it is not, or the queue is full. For what is read
  /// from disk, which may tell of a task what is known already, and known better.
  bool put_if_new(task_key key, const queue_position& at, wall_time now, bool recovered = false) {
    return slots_.find(key) == slot_table::none
           && add(key, at, now, recovered) == put_outcome::queued;
  }

  /// A restart: the new priority and due replace the old, also when later. Arrival is kept, so
  /// restarting cannot push a task behind its peers; an unknown task is queued as by `put`.
  put_outcome reposition(task_key key, const queue_position& at, wall_time now);

  /// Takes a task out, whatever its state. False if unknown.
  bool erase(task_key key);

  /// Moves delayed tasks whose moment has come to the ready, at most `limit`; returns how many.
  std::size_t check_due(wall_time now, std::size_t limit = SIZE_MAX);

  /// The ready task that is handed out next; none when nothing is ready.
  [[nodiscard]] std::optional<queue_entry> first_ready() const;

  /// When the next delayed task is due; none when nothing is delayed.
  [[nodiscard]] std::optional<wall_time> next_due() const;

  // -- leases ----------------------------------------------------------------------------------

  /// Hands out the best ready task for `timeout`; none when nothing is ready. `check_due` first.
  std::optional<queue_lease> lease(instant now, usec timeout,
                                   std::shared_ptr<const std::string> consumer = nullptr);

  /// Judges a report. `token` none: the consumer named no lease. `epoch`: the shard's current one.
  ///  - settling: stale, the first report counts;
  ///  - not handed out since the queue was loaded: good for any lease of before, and for none;
  ///  - a token of this epoch: good if no later lease was given and it was not given back, also
  ///    after it ran out; of an older epoch: stale;
  ///  - without a token: good if the task is handed out or its lease ran out.
  [[nodiscard]] lease_verdict judge(task_key key, const std::optional<lease_token>& token,
                                    std::uint64_t epoch) const;

  /// Whether the task is handed out right now under this token (for extend and release).
  [[nodiscard]] bool holds(const lease_token& token, std::uint64_t epoch) const;

  /// Lease runs from now on until now + timeout. False unless processing.
  bool extend(task_key key, instant now, usec timeout);

  /// Gives a task back: queued where it stood (or where a restart put it), not before
  /// now + delay. Its lease becomes stale. False unless processing.
  bool release(task_key key, usec delay, wall_time now);

  /// Leases that have run out go back to the ready, at most `limit`; their late reports stay good
  /// until they are handed out again. Returns the tasks.
  std::vector<task_key> expire(instant now, std::size_t limit = SIZE_MAX);

  /// When the next lease runs out; none when nothing is handed out.
  [[nodiscard]] std::optional<mono_time> next_deadline() const;

  // -- a report's way --------------------------------------------------------------------------

  /// A good report is being committed: no timeout, no second report. False if unknown or settling.
  bool begin_settle(task_key key);

  /// The commit failed: the entry is as before `begin_settle`. False unless settling.
  bool abort_settle(task_key key, wall_time now);

  /// The commit settled the task. False if unknown.
  bool settled(task_key key) { return erase(key); }

  /// The commit queued it again (retry, recrawl, superseded) at `at`, which replaces all positions
  /// remembered. Leases given so far become stale. False if unknown.
  bool requeue(task_key key, const queue_position& at, wall_time now);

  // -- a queue that is longer than memory should hold ---------------------------------------------

  /// Until it is queued again, `keep_first` keeps this task. False if unknown.
  bool pin(task_key key);

  /// The first delayed task; none when nothing is delayed.
  [[nodiscard]] std::optional<queue_entry> first_delayed() const;

  /// Drops waiting tasks that come after the first `most`, in the order in which they would be
  /// handed out if nothing else happened: the ready in theirs, then the delayed by their moment.
  /// Kept all the same are tasks of which only this queue knows something: those whose last lease
  /// still counts, those that were given back or pinned, and those for which `stored` says false.
  /// Returns what was dropped, at its stored position. O(n).
  std::vector<queue_entry> keep_first(std::size_t most, wall_time now,
                                      const std::function<bool(task_key)>& stored);

  // -- reading ---------------------------------------------------------------------------------

  [[nodiscard]] std::size_t ready() const noexcept { return ready_.size(); }
  [[nodiscard]] std::size_t delayed() const noexcept { return delayed_.size(); }
  /// Handed out, including those whose report is being committed.
  [[nodiscard]] std::size_t processing() const noexcept {
    return slots_.size() - ready_.size() - delayed_.size();
  }
  /// Ready or delayed.
  [[nodiscard]] std::size_t waiting() const noexcept { return ready_.size() + delayed_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  [[nodiscard]] bool empty() const noexcept { return slots_.size() == 0; }
  [[nodiscard]] bool contains(task_key key) const noexcept {
    return slots_.find(key) != slot_table::none;
  }
  [[nodiscard]] std::optional<queue_view> state_of(task_key key) const;
  [[nodiscard]] std::uint32_t last_lease() const noexcept { return last_lease_; }

  void clear();

private:
  struct by_order {};
  struct by_due {};
  struct by_deadline {};
  template <class, class>
  friend class indexed_heap;

  struct lease_entry {
    std::uint32_t slot = 0;  ///< or the next free entry
    std::uint32_t place = 0; ///< in the deadline heap, while processing
    mono_time deadline{};
    wall_time wall_deadline{};
    std::shared_ptr<const std::string> consumer;
    queue_position after; ///< where a restart wants it
    bool has_after = false;
    bool handed_out = false; ///< false: a late report settles a task that waits
  };

  // what the heaps ask of their owner
  [[nodiscard]] bool before(by_order, std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool before(by_due, std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool before(by_deadline, std::uint32_t a, std::uint32_t b) const;
  void placed(by_order, std::uint32_t slot, std::uint32_t place) { slots_[slot].place = place; }
  void placed(by_due, std::uint32_t slot, std::uint32_t place) { slots_[slot].place = place; }
  void placed(by_deadline, std::uint32_t entry, std::uint32_t place) {
    leases_[entry].place = place;
  }

  put_outcome add(task_key key, const queue_position& at, wall_time now, bool recovered);
  void enqueue(std::uint32_t slot, wall_time now);
  void make_ready(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void end_lease(std::uint32_t slot);
  void resort(std::uint32_t slot, wall_time now);
  std::uint32_t take_lease_entry(std::uint32_t slot);
  void give_lease_entry(std::uint32_t entry);

  slot_table slots_;
  indexed_heap<task_queue, by_order> ready_;
  indexed_heap<task_queue, by_due> delayed_;
  indexed_heap<task_queue, by_deadline> deadlines_;
  chunked_array<lease_entry, 64> leases_;
  std::uint32_t free_lease_ = slot_table::none;
  std::size_t lease_count_ = 0;
  std::uint32_t last_lease_ = 0;
};

} // namespace lycosa
