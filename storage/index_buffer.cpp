#include "storage/index_buffer.hpp"

#include <algorithm>

namespace lycosa::storage {

void index_buffer::put(const task_ref& r, const index_change& c, std::uint64_t lsn) {
  auto& p = slices_[slice_of(r)];
  if (p.changes.insert_or_assign(r, c).second) ++size_;
  p.oldest = std::min(p.oldest, lsn);
}

void index_buffer::drop_slice(std::size_t slice) {
  auto& p = slices_[slice];
  size_ -= p.changes.size();
  // With its memory: what a slice needed once at the height of a storm, it need not keep.
  p = {};
}

std::uint64_t index_buffer::oldest(const std::vector<bool>& without) const {
  auto found = none;
  for (std::size_t i = 0; i < slices; ++i)
    if (!without[i]) found = std::min(found, slices_[i].oldest);
  return found;
}

} // namespace lycosa::storage
