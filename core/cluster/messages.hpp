#pragma once

#include "core/cluster/shard_log.hpp"
#include "core/cluster/shard_record.hpp"
#include "core/cluster/types.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

/// What the nodes that keep one shard say to each other, and what they are told to do.
///
/// Messages may be lost, doubled, late and out of order. They name batches; who carries a message
/// attaches the batches themselves.
namespace lycosa::cluster {

struct batch_head {
  entry_id id;
  std::uint32_t bytes = 0;
};

/// Leader → follower: batches to keep, one behind the other. Without any it asks for the state.
struct append_message {
  epoch_number epoch = 0;
  entry_id before; ///< what stands in front of the first batch
  std::vector<batch_head> batches;
  lsn_number committed = 0; ///< up to here every member has it
  lsn_number trim = 0;      ///< up to here nobody needs the log
};

/// How far a follower has got with being copied.
struct copy_progress {
  copy_id id;
  entry_id at;              ///< the copy is of the shard as it was just after this batch
  std::uint32_t chunks = 0; ///< so many are on disk, from the first on
  friend bool operator==(const copy_progress&, const copy_progress&) = default;
};

/// Follower → leader: what it holds. The answer to everything, and always true: of two that arrive
/// in the wrong order neither does harm.
struct state_message {
  epoch_number epoch = 0; ///< the newest that the follower knows of
  copy_id copy;           ///< the last copying that it began
  entry_id end;           ///< of its log
  lsn_number synced = 0;  ///< on disk up to here
  bool gap = false;       ///< it was sent batches that do not stand behind its end
  std::optional<copy_progress> copying;
};

/// Leader → follower: throw your copy of the shard away and take this one, a piece at a time.
struct copy_message {
  epoch_number epoch = 0;
  copy_id id;
  entry_id at;
  std::vector<epoch_start> history; ///< of the leader's log, up to `at`
  std::uint32_t chunk = 0;
  std::uint32_t chunks = 0; ///< of how many
};

/// Between members while there is no leader: how far my log goes. The longest should lead, for
/// whoever holds more than the new leader has to be copied.
struct candidate_message {
  std::uint64_t version = 0; ///< of the record that lacks a leader
  entry_id end;
  bool asks = false; ///< and how far does yours?
};

using message = std::variant<append_message, state_message, copy_message, candidate_message>;

enum class stop_reason : std::uint8_t {
  fenced,      ///< there is a leader of a newer epoch
  lease_ended, ///< the coordination store has not been reached for too long
  handed_over,
  disk_failed,
  not_enough, ///< copies are there to acknowledge anything
};

/// What is to be done, in this order.
namespace effect {

struct send {
  node_id to = node_id::none;
  message what;
};

/// Begin of a leadership: write this empty batch. It is to be synced like any other.
struct write_opening {
  entry_id id;
};

/// Write these batches of the message that is being handled: [first, first + count).
struct write_batches {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Answer what was submitted, up to this batch: it is on disk on every member.
struct acknowledge {
  lsn_number through = 0;
};

/// Fail what was submitted and not acknowledged, as retryable: whether it is kept is not known.
struct fail_open {
  stop_reason why = stop_reason::fenced;
};

/// Change the record if its version still is `next.version`, and if that session has ended.
/// No answer is expected but the record itself, sooner or later.
struct propose {
  shard_record next;
  session_id ended = session_id::none; ///< none = no such condition
};

/// Keep a readable view of the shard as of now for this copying, and say `snapshot_opened`.
struct open_snapshot {
  copy_id id;
};
struct close_snapshot {
  copy_id id;
};

/// Throw away the shard and its log and note that it is being copied, in one commit.
struct discard_shard {
  copy_progress begun;
};
/// Keep the piece of the message that is being handled. In the commit of the last one the shard
/// becomes whole: its log is empty and ends at the copy's `at`, with the message's history.
struct write_chunk {
  std::uint32_t chunk = 0;
  bool last = false;
};

struct trim_log {
  lsn_number through = 0;
};

} // namespace effect

using effect_item =
    std::variant<effect::send, effect::write_opening, effect::write_batches, effect::acknowledge,
                 effect::fail_open, effect::propose, effect::open_snapshot, effect::close_snapshot,
                 effect::discard_shard, effect::write_chunk, effect::trim_log>;
using effects = std::vector<effect_item>;

/// Bounds and times of replication. Times are of the monotonic clock.
struct replication_limits {
  std::uint32_t window_batches = 256;        ///< in flight to one follower
  std::uint64_t window_bytes = 16 << 20;     ///< the same; one batch is always allowed
  std::uint32_t open_batches = 1024;         ///< taken in and not acknowledged
  std::uint32_t message_batches = 64;        ///< in one message
  std::uint32_t copy_window = 4;             ///< pieces of a copy in flight
  std::uint64_t log_bytes = 1ULL << 30;      ///< kept for followers that lag or are away
  std::uint64_t copy_log_bytes = 4ULL << 30; ///< kept for one that is being copied
  usec heartbeat = std::chrono::milliseconds{200};
  usec resend_after = std::chrono::milliseconds{500};
  usec slow_after = std::chrono::seconds{3}; ///< a member so far behind is dropped
  usec propose_retry = std::chrono::seconds{1};
  usec election_wait = std::chrono::milliseconds{200}; ///< for other candidates to speak up
};

} // namespace lycosa::cluster
