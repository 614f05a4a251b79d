#pragma once

#include "core/task_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

/// A queue of which memory holds the next tasks only, and the disk the rest in its order.
namespace lycosa {

/// Knows what of a project's queue is on disk only.
///
/// The stored queue is a set of streams, one for each shard and priority, each in the order due,
/// arrival, key. Of a stream memory holds all before its head; the head and what follows are on
/// disk only. A stream without a head is in memory whole. So the best task of all is the first in
/// memory unless a head comes before it, and since heads are few they are kept as a queue of their
/// own, with the rules of the real one: the ready by priority, the delayed by their moment.
///
/// Memory may hold more than it must (tasks that are handed out, or were given back, or came while
/// their stream was read): what is read twice is known by its key.
///
/// No threads, no I/O, no clock. About 200 B for each stream that has a head, nothing else.
class queue_window {
public:
  /// The next piece of a stream to read, from its head on.
  struct read {
    queue_entry from;
    std::size_t limit = 0;
  };

  /// About so many waiting tasks in memory, at most twice as many; 0 = all of them.
  void set_limit(std::size_t most) { limit_ = most; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

  /// Nothing is on disk only.
  [[nodiscard]] bool whole() const { return heads_.empty(); }

  /// Whether a task that is stored at this position belongs in memory now.
  [[nodiscard]] bool holds(const queue_entry& e) const;

  /// From this task on, its stream is on disk only (found at the start, or dropped from memory).
  void leave(const queue_entry& e, wall_time now);

  /// Whether memory has so many more waiting tasks than it should that it is worth dropping some;
  /// `dropped` then tells how many are left.
  [[nodiscard]] bool too_many(std::size_t waiting) {
    left_ = std::min(left_, waiting);
    return limit_ > 0 && !reading_ && waiting > std::max(2 * limit_, left_ + limit_);
  }
  void dropped(std::size_t waiting_now) { left_ = waiting_now; }

  /// Whether something on disk comes before `first`, the first ready task in memory.
  [[nodiscard]] bool blocks(const std::optional<queue_entry>& first, wall_time now);

  /// What to read next; none = nothing is needed, or a read is under way.
  [[nodiscard]] std::optional<read> begin_read(const task_queue& memory, wall_time now);

  /// The read has come back with all there was up to its limit. Removes from `found` what stays on
  /// disk: the stream's next head.
  void end_read(std::vector<queue_entry>& found, wall_time now);

  /// The read has failed, and may be begun again.
  void fail_read() { reading_.reset(); }

  [[nodiscard]] bool reading() const { return reading_.has_value(); }

  /// When a task that is on disk only may become ready; none = something is, or none will.
  [[nodiscard]] std::optional<wall_time> next_due() const { return order_.next_due(); }

  void clear();

private:
  using stream = std::pair<std::uint16_t, std::int32_t>; ///< shard, priority
  static stream stream_of(const queue_entry& e) { return {e.key.shard(), e.position.priority}; }
  /// What a stream's head is called in `order_`. Not by its task: a head that is out of date may
  /// be the same task as another.
  static task_key key_of(const stream& s) {
    return {s.first, static_cast<std::uint32_t>(s.second)};
  }
  void set_head(const queue_entry& e, wall_time now);
  void end(const stream& s);

  /// Fewest to read at once, a page or two of the table, unless the window is smaller; and most.
  static constexpr std::size_t least_read = 256, most_read = 16384;

  std::size_t limit_ = 0;
  std::size_t left_ = 0;
  std::map<stream, queue_entry> heads_;
  task_queue order_; ///< the heads
  std::optional<stream> reading_;
  std::size_t read_limit_ = 0;
};

} // namespace lycosa
