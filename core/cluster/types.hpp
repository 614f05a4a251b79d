#pragma once

#include "core/types.hpp"

#include <compare>
#include <cstdint>

/// How several nodes keep one set of shards: who leads what, and what may be acknowledged.
///
/// Everything here is a decision: events and messages go in with the moment they are handled at,
/// effects come out. Nothing here has a thread, a socket, a file or a clock.
namespace lycosa::cluster {

/// A member of the cluster. It belongs to a data directory, not to a machine: a node whose disk was
/// replaced comes back under another number, for it no longer has what it once said it had.
enum class node_id : std::uint64_t { none = 0 };

/// A stay of a node in the cluster: its lease in the coordination store. A process that restarts
/// gets another one.
enum class session_id : std::uint64_t { none = 0 };

/// Counts the leaders of a shard; each has an epoch of its own. 0 = before the first.
using epoch_number = std::uint64_t;

/// Position of a batch in a shard's log: 1, 2, 3 … without gaps. 0 = before the first.
using lsn_number = std::uint64_t;

/// A batch by who made it and where it stands. One leader an epoch, so two batches of the same name
/// are the same batch; and, since a follower takes a batch only behind the one it follows in its
/// leader's log, two logs that hold the same entry are the same up to it (Raft's log matching).
struct entry_id {
  epoch_number epoch = 0;
  lsn_number lsn = 0;
  /// By epoch first: of two logs the one with the greater end is the better one to go on with.
  friend constexpr auto operator<=>(const entry_id&, const entry_id&) = default;
};

/// Names one copying of a whole shard onto a follower. They grow, so what is late is recognised.
struct copy_id {
  epoch_number epoch = 0; ///< of the leader that copies
  std::uint64_t number = 0;
  friend constexpr auto operator<=>(const copy_id&, const copy_id&) = default;
};

} // namespace lycosa::cluster
