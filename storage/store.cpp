#include "storage/store.hpp"

#include <algorithm>

namespace lycosa::storage {

std::byte* record_batch::allocate(std::size_t bytes) {
  // Cap'n Proto reads words: every record begins at a multiple of 8 (new[] aligns to 16).
  const auto need = (std::max<std::size_t>(bytes, 1) + 7) & ~std::size_t{7};
  if (capacity_ - used_ < need) {
    constexpr std::size_t block = 32 * 1024;
    // A record larger than a quarter block gets its own, so that little of a block is wasted.
    if (need > block / 4 && capacity_ != 0) {
      blocks_.insert(blocks_.end() - 1, std::make_unique_for_overwrite<std::byte[]>(need));
      return (blocks_.end() - 2)->get();
    }
    capacity_ = std::max(need, blocks_.empty() ? block / 8 : block);
    used_ = 0;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity_));
  }
  auto* at = blocks_.back().get() + used_;
  used_ += need;
  return at;
}

} // namespace lycosa::storage
