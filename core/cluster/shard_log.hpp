#pragma once

#include "core/cluster/types.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace lycosa::cluster {

/// Where the batches of an epoch begin.
struct epoch_start {
  epoch_number epoch = 0;
  lsn_number first = 0;
  friend constexpr bool operator==(const epoch_start&, const epoch_start&) = default;
};

/// What memory knows of a shard's log on disk: where it begins and ends, which epoch made which
/// part, and how large each batch is (4 B a batch). The batches themselves are elsewhere.
///
/// The history of epochs reaches back before the log's beginning: it is what tells whether a
/// follower's log is a part of this one (Kafka's leader epochs, KIP-101). It has an entry for each
/// leader that appended something, so it stays short.
///
/// Invariants: epochs and first positions of the history both rise; sizes_ holds begin() … end().
class shard_log {
public:
  shard_log() = default;
  /// A log that was found on disk. `sizes` are those of begin, begin + 1 …
  shard_log(lsn_number begin, std::vector<epoch_start> history,
            const std::vector<std::uint32_t>& sizes);

  /// The first batch that is still held; end().lsn + 1 when none is.
  [[nodiscard]] lsn_number begin() const { return begin_; }
  [[nodiscard]] entry_id end() const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t size_of(lsn_number lsn) const { return sizes_[lsn - begin_]; }
  [[nodiscard]] const std::vector<epoch_start>& history() const { return history_; }

  /// Which epoch made this position; 0 for 0. Precondition: not past the end.
  [[nodiscard]] epoch_number epoch_at(lsn_number lsn) const;
  [[nodiscard]] entry_id at(lsn_number lsn) const { return {epoch_at(lsn), lsn}; }
  /// Whether a log with this end is a beginning of this log.
  [[nodiscard]] bool continues(entry_id end) const;

  /// Precondition: `id` stands directly behind the end, and its epoch is not older.
  void append(entry_id id, std::uint32_t bytes);
  /// Forgets batches up to and including this one; the end and the history stay.
  void trim(lsn_number through);
  /// The shard was replaced by a copy of another, as it was just after `at`.
  void restart(entry_id at, std::vector<epoch_start> history);

private:
  lsn_number begin_ = 1;
  std::uint64_t bytes_ = 0;
  std::deque<std::uint32_t> sizes_;
  std::vector<epoch_start> history_;
};

} // namespace lycosa::cluster
