#pragma once

#include "core/chunked_array.hpp"
#include "core/task.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lycosa {

enum class queue_state : std::uint8_t { ready, delayed, processing, settling };

/// One queued task, packed: 40 bytes.
struct queue_slot {
  std::uint64_t key = 0;
  std::int64_t due = 0; ///< µs since the epoch
  std::uint64_t arrival : 63 = 0;
  /// Read from disk anew it would not be the same, since it was given back.
  std::uint64_t unlike : 1 = 0;
  std::int32_t priority = 0;
  std::uint32_t lease = 0;      ///< number of the last lease that still counts; 0 = none
  std::uint32_t next = 0;       ///< in its hash bucket, or in its chunk's list of free slots
  std::uint32_t place : 29 = 0; ///< in its heap; the lease entry when processing or settling
  std::uint32_t state_bits : 2 = 0;
  std::uint32_t recovered : 1 = 0; ///< loaded at the start of the node and not handed out since

  [[nodiscard]] queue_state state() const { return static_cast<queue_state>(state_bits); }
};
static_assert(sizeof(queue_slot) == 40);

/// Finds the slot of a task: a hash table by linear hashing over slabs of slots.
///
/// Both grow in steps of constant cost. Slots live in chunks of 256 that never move; chunks with
/// no live slot are freed, but for one. The table has one 4-byte bucket a slot and grows by
/// splitting one bucket an insertion, so 10M tasks neither stall an insertion for a rehash nor hold
/// two tables at once.
///
/// Invariants:
///  - buckets == max(16, live slots) while growing, at most twice that after shrinking;
///  - a slot is in the bucket its hash names, or in its chunk's list of free slots;
///  - `partial_` lists exactly the chunks that have a free slot.
class slot_table {
public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  /// Most slots: what a heap place of 29 bits can name.
  static constexpr std::size_t max_size = (std::size_t{1} << 29) - 1;

  slot_table() { clear(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t find(task_key key) const noexcept;

  /// Adds a slot for a key that is not there. Precondition: size() < max_size.
  std::uint32_t insert(task_key key);
  void erase(std::uint32_t index) noexcept;
  void clear();

  [[nodiscard]] queue_slot& operator[](std::uint32_t i) noexcept {
    return chunks_[i / per_chunk].slots[i % per_chunk];
  }
  [[nodiscard]] const queue_slot& operator[](std::uint32_t i) const noexcept {
    return chunks_[i / per_chunk].slots[i % per_chunk];
  }

private:
  static constexpr std::uint32_t per_chunk = 256;
  static constexpr std::size_t min_buckets = 16;

  static constexpr std::uint32_t least_per_chunk = 8; ///< the first starts so and doubles

  struct chunk {
    std::unique_ptr<queue_slot[]> slots; ///< none = released
    std::uint32_t capacity = 0;
    std::uint32_t live = 0;
    std::uint32_t free_head = none; ///< index of a slot
    std::uint32_t at_partial = none;
  };

  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const noexcept;
  std::uint32_t take_slot();
  void add_room();
  void give_slot(std::uint32_t index) noexcept;
  void split_bucket();
  void merge_bucket() noexcept;
  void add_partial(std::uint32_t c);
  void drop_partial(std::uint32_t c) noexcept;

  std::vector<chunk> chunks_;
  std::vector<std::uint32_t> gone_;    ///< numbers of released chunks, to be used again
  std::vector<std::uint32_t> partial_; ///< chunks with room
  std::size_t empty_ = 0;              ///< chunks without a live slot: 0 or 1
  chunked_array<std::uint32_t, 1024> buckets_;
  std::size_t size_ = 0;
};

} // namespace lycosa
