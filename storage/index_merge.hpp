#pragma once

#include "storage/index_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Which changes of the index a commit writes into their places, and which wait. Pure.
namespace lycosa::storage {

/// Where the round of slices is.
struct merge_pace {
  std::size_t next = 0; ///< the slice whose turn it is
  double owed = 0;      ///< slices that are due, with the fraction that is not yet
};

struct merge_plan {
  /// In key order. The pointers are into the buffer or the fresh changes.
  std::vector<std::pair<task_ref, const index_change*>> place;
  std::vector<bool> whole; ///< by slice: all of its changes are in `place`
  std::size_t merged = 0;  ///< how many these are: the last before `after.next`
  merge_pace after;
};

struct merge_limits {
  /// Changes that wait on average when every task changes once a round. The log is needed twice as
  /// far back.
  std::size_t target = 16384;
};

/// `fresh` are the changes of this commit, made by `mutations` log entries.
[[nodiscard]] merge_plan plan_merge(const index_buffer& waiting, const index_changes& fresh,
                                    std::size_t mutations, merge_pace pace,
                                    const merge_limits& limits);

} // namespace lycosa::storage
