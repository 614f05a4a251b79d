#include "core/slot_table.hpp"

#include <algorithm>
#include <bit>

namespace lycosa {
namespace {

/// Every bit of the key decides every bit of the hash: buckets are named by the low bits, and a
/// project's sequence numbers may be any arithmetic progression.
std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  return x;
}

} // namespace

std::size_t slot_table::bucket_of(std::uint64_t key) const noexcept {
  // Linear hashing: buckets past the end have not been split off their lower half yet.
  const auto span = std::bit_ceil(buckets_.size());
  const auto h = mix(key);
  const auto b = h & (span - 1);
  return b < buckets_.size() ? b : h & (span / 2 - 1);
}

std::uint32_t slot_table::find(task_key key) const noexcept {
  auto i = buckets_[bucket_of(key.value())];
  while (i != none) {
    const auto& s = (*this)[i];
    if (s.key == key.value()) return i;
    i = s.next;
  }
  return none;
}

std::uint32_t slot_table::insert(task_key key) {
  if (size_ >= buckets_.size()) split_bucket();
  const auto index = take_slot();
  auto& s = (*this)[index];
  s = queue_slot{};
  s.key = key.value();
  auto& head = buckets_[bucket_of(s.key)];
  s.next = head;
  head = index;
  ++size_;
  return index;
}

void slot_table::erase(std::uint32_t index) noexcept {
  auto* link = &buckets_[bucket_of((*this)[index].key)];
  while (*link != index)
    link = &(*this)[*link].next;
  *link = (*this)[index].next;
  give_slot(index);
  --size_;
  // Two at most: the table shrinks as fast as its bound does.
  for (int i = 0; i < 2 && buckets_.size() > min_buckets && buckets_.size() > 2 * size_; ++i)
    merge_bucket();
}

void slot_table::clear() {
  chunks_.clear();
  chunks_.shrink_to_fit();
  gone_.clear();
  partial_.clear();
  empty_ = 0;
  buckets_.clear();
  for (std::size_t i = 0; i < min_buckets; ++i)
    buckets_.push_back(none);
  size_ = 0;
}

void slot_table::split_bucket() {
  const auto fresh = buckets_.size();
  const auto source = fresh - std::bit_ceil(fresh + 1) / 2;
  buckets_.push_back(none);
  auto i = buckets_[source];
  buckets_[source] = none;
  while (i != none) {
    auto& s = (*this)[i];
    const auto next = s.next;
    auto& head = buckets_[bucket_of(s.key)];
    s.next = head;
    head = i;
    i = next;
  }
}

void slot_table::merge_bucket() noexcept {
  const auto last = buckets_.size() - 1;
  const auto target = last - std::bit_ceil(last + 1) / 2;
  const auto moved = buckets_[last];
  buckets_.pop_back();
  if (moved == none) return;
  auto tail = moved;
  while ((*this)[tail].next != none)
    tail = (*this)[tail].next;
  (*this)[tail].next = buckets_[target];
  buckets_[target] = moved;
}

/// Makes a chunk with free slots: the first one larger while it is small, else a new one.
/// Precondition: no slot is free.
void slot_table::add_room() {
  std::uint32_t c = 0;
  const auto first = chunks_.empty() ? 0 : chunks_[0].capacity; // 0 = none, or released
  if (first == 0 || first == per_chunk) {
    if (gone_.empty()) {
      c = static_cast<std::uint32_t>(chunks_.size());
      chunks_.emplace_back();
    } else {
      c = gone_.back();
      gone_.pop_back();
    }
    ++empty_;
  }
  auto& to = chunks_[c];
  const auto old = to.capacity;
  to.capacity = c != 0 ? per_chunk : std::max(least_per_chunk, 2 * old);
  auto slots = std::make_unique<queue_slot[]>(to.capacity);
  std::copy_n(to.slots.get(), old, slots.get());
  to.slots = std::move(slots);
  for (auto i = to.capacity; i-- > old;) {
    to.slots[i].next = to.free_head;
    to.free_head = c * per_chunk + i;
  }
  add_partial(c);
}

std::uint32_t slot_table::take_slot() {
  if (partial_.empty()) add_room();
  const auto c = partial_.back();
  auto& from = chunks_[c];
  const auto index = from.free_head;
  from.free_head = (*this)[index].next;
  if (from.live++ == 0) --empty_;
  if (from.free_head == none) drop_partial(c);
  return index;
}

void slot_table::give_slot(std::uint32_t index) noexcept {
  const auto c = index / per_chunk;
  auto& to = chunks_[c];
  if (to.free_head == none) add_partial(c);
  (*this)[index].next = to.free_head;
  to.free_head = index;
  if (--to.live > 0) return;
  if (empty_ == 0) { // one is kept: a queue that swings between 0 and 1 need not allocate
    ++empty_;
    return;
  }
  drop_partial(c);
  chunks_[c] = {};
  gone_.push_back(c);
}

void slot_table::add_partial(std::uint32_t c) {
  chunks_[c].at_partial = static_cast<std::uint32_t>(partial_.size());
  partial_.push_back(c);
}

void slot_table::drop_partial(std::uint32_t c) noexcept {
  const auto at = chunks_[c].at_partial;
  const auto last = partial_.back();
  partial_[at] = last;
  chunks_[last].at_partial = at;
  partial_.pop_back();
  chunks_[c].at_partial = none;
}

} // namespace lycosa
