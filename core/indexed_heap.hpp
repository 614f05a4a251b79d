#pragma once

#include "core/chunked_array.hpp"

#include <cstddef>
#include <cstdint>

namespace lycosa {

/// A 4-ary heap of 32-bit handles whose elements know their place, so that any of them can be
/// re-sorted or removed in O(log n). `Owner` tells how:
///   bool before(heap tag, a, b)   a goes first
///   void placed(heap tag, a, pos) a now stands at pos
/// Four children a node: half the depth of a binary heap, and siblings share a cache line.
/// Invariant: no element goes before its parent, and `placed` was told every element's place.
template <class Owner, class Tag>
class indexed_heap {
public:
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::uint32_t top() const noexcept { return items_[0]; }
  /// Any element: the order is the heap's, only the first is known to be the best.
  [[nodiscard]] std::uint32_t at(std::size_t pos) const noexcept { return items_[pos]; }

  void push(Owner& owner, std::uint32_t item) {
    items_.push_back(item);
    up(owner, items_.size() - 1);
  }

  void erase(Owner& owner, std::size_t pos) {
    const auto last = items_.back();
    items_.pop_back();
    if (pos == items_.size()) return;
    items_[pos] = last;
    fix(owner, pos);
  }

  /// Restores order after the element at `pos` changed in either direction.
  void fix(Owner& owner, std::size_t pos) {
    if (pos > 0 && owner.before(Tag{}, items_[pos], items_[(pos - 1) / 4]))
      up(owner, pos);
    else
      down(owner, pos);
  }

  void clear() noexcept { items_.clear(); }

private:
  void up(Owner& owner, std::size_t pos) {
    const auto item = items_[pos];
    while (pos > 0) {
      const auto parent = (pos - 1) / 4;
      if (!owner.before(Tag{}, item, items_[parent])) break;
      put(owner, pos, items_[parent]);
      pos = parent;
    }
    put(owner, pos, item);
  }

  void down(Owner& owner, std::size_t pos) {
    const auto item = items_[pos];
    const auto n = items_.size();
    for (;;) {
      const auto first = pos * 4 + 1;
      if (first >= n) break;
      auto best = first;
      const auto end = first + 4 < n ? first + 4 : n;
      for (auto child = first + 1; child < end; ++child)
        if (owner.before(Tag{}, items_[child], items_[best])) best = child;
      if (!owner.before(Tag{}, items_[best], item)) break;
      put(owner, pos, items_[best]);
      pos = best;
    }
    put(owner, pos, item);
  }

  void put(Owner& owner, std::size_t pos, std::uint32_t item) {
    items_[pos] = item;
    owner.placed(Tag{}, item, static_cast<std::uint32_t>(pos));
  }

  chunked_array<std::uint32_t, 1024> items_;
};

} // namespace lycosa
