#include "storage/index_merge.hpp"

#include <algorithm>

namespace lycosa::storage {

namespace {

void add_slice(merge_plan& plan, const index_buffer& waiting, const index_changes& fresh,
               std::size_t slice) {
  plan.whole[slice] = true;
  for (const auto& [ref, change] : waiting.slice(slice))
    if (!fresh.contains(ref)) plan.place.emplace_back(ref, &change);
}

} // namespace

merge_plan plan_merge(const index_buffer& waiting, const index_changes& fresh,
                      std::size_t mutations, merge_pace pace, const merge_limits& limits) {
  merge_plan plan;
  plan.whole.assign(index_buffer::slices, false);
  plan.after = pace;
  // The round goes by what is written to the log, whose length it bounds: the same few tasks
  // changed for ever leave the buffer small.
  auto& owed = plan.after.owed;
  owed += static_cast<double>(index_buffer::slices) * static_cast<double>(mutations)
          / static_cast<double>(2 * limits.target);
  owed = std::min(owed, static_cast<double>(index_buffer::slices));
  auto& next = plan.after.next;
  for (; owed >= 1; owed -= 1, next = (next + 1) % index_buffer::slices, ++plan.merged)
    add_slice(plan, waiting, fresh, next);
  for (const auto& [ref, change] : fresh)
    if (plan.whole[index_buffer::slice_of(ref)]) plan.place.emplace_back(ref, &change);
  // Neighbours one after the other: they share pages.
  std::sort(plan.place.begin(), plan.place.end(),
            [](const auto& a, const auto& b) { return before_in_hashes(a.first, b.first); });
  return plan;
}

} // namespace lycosa::storage
