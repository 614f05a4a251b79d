#pragma once

#include "storage/keys.hpp"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace lycosa::storage {

/// What happened to one entry of the index.
struct index_change {
  index_value value;
  bool erased = false;
};

struct task_ref_hash {
  // The name is a hash already; its low half has lost some bits to the choice of the shard.
  std::size_t operator()(const task_ref& r) const {
    return r.hash.high ^ std::rotl(r.hash.low, 32) ^ (static_cast<std::uint64_t>(r.project) << 17);
  }
};
struct task_ref_equal {
  bool operator()(const task_ref& a, const task_ref& b) const {
    return a.hash == b.hash && a.project == b.project;
  }
};
using index_changes =
    boost::unordered_flat_map<task_ref, index_change, task_ref_hash, task_ref_equal>;
using task_refs = boost::unordered_flat_set<task_ref, task_ref_hash, task_ref_equal>;

/// Changes of the table `hashes` that are on disk in the log and not yet in their places.
///
/// Written in place, each change would cost a page of the commit, since names are random. Gathered
/// here, cut into slices of the range of names, and written a slice at a time in turn, each page is
/// written once for many changes. That is the memory table and the log of a log-structured merge
/// tree (O'Neil et al., 1996) before an LMDB tree, with slices in place of one long merge: no
/// commit has more than its share of the work.
///
/// No threads, no I/O. A round of all slices decides how far back the log is needed.
class index_buffer {
public:
  static constexpr std::size_t slices = 1024;
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  index_buffer() : slices_(slices) {}

  [[nodiscard]] static std::size_t slice_of(const task_ref& r) { return r.hash.high >> 54; }

  /// What waits for this task; null = the table itself knows.
  [[nodiscard]] const index_change* find(const task_ref& r) const {
    if (size_ == 0) return nullptr;
    const auto& changes = slices_[slice_of(r)].changes;
    const auto i = changes.find(r);
    return i == changes.end() ? nullptr : &i->second;
  }

  /// Takes in a change that log record `lsn` holds, in place of an older one.
  void put(const task_ref& r, const index_change& c, std::uint64_t lsn);

  /// Forgets changes that are in their places now.
  void drop_slice(std::size_t slice);

  [[nodiscard]] const index_changes& slice(std::size_t i) const { return slices_[i].changes; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Oldest log record that still holds a change which waits, if the slices marked in `without`
  /// are dropped and nothing comes; `none` when nothing waits.
  [[nodiscard]] std::uint64_t oldest(const std::vector<bool>& without) const;

private:
  struct part {
    index_changes changes;
    std::uint64_t oldest = none;
  };
  std::vector<part> slices_;
  std::size_t size_ = 0;
};

} // namespace lycosa::storage
