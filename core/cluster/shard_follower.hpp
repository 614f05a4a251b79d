#pragma once

#include "core/cluster/messages.hpp"
#include "core/cluster/shard_log.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace lycosa::cluster {

/// The copy of a shard on a node that does not lead it.
///
/// Rules:
/// - Nothing is taken from a leader of an older epoch than the newest it knows of.
/// - A batch is taken only directly behind the batch that it follows in its leader's log.
/// - What it tells the leader is what is there; the leader judges. Only what is on disk counts.
/// - Its copy is thrown away only by order of the newest leader, once an order.
///
/// The newest epoch need not be on disk: a member that was taken in has a batch of that epoch in
/// its log, and one that was a member all along is not ordered to throw anything away.
class shard_follower {
public:
  /// As found on disk. `copying`: the shard is not whole; `last_copy`: the newest copying begun.
  shard_follower(shard_log& log, lsn_number synced, copy_id last_copy,
                 std::optional<copy_progress> copying);

  void receive(node_id from, const append_message& m, effects& out);
  void receive(node_id from, const copy_message& m, effects& out);
  /// Batches are on disk up to this one.
  void synced(lsn_number through, effects& out);
  /// So many pieces of this copy are on disk.
  void chunks_synced(copy_id id, std::uint32_t chunks, effects& out);
  /// There is a leader of this epoch; the record says so.
  void epoch_seen(epoch_number epoch);

  [[nodiscard]] epoch_number epoch() const { return epoch_; }
  [[nodiscard]] lsn_number synced() const { return synced_; }
  /// Whether the shard is whole here. It may not lead otherwise.
  [[nodiscard]] bool whole() const { return !copying_; }
  [[nodiscard]] bool knows_leader() const { return leader_ != node_id::none; }

private:
  bool obeys(node_id from, epoch_number epoch, effects& out);
  void answer(node_id to, bool gap, effects& out) const;
  void begin_copy(const copy_message& m, effects& out);

  shard_log& log_;
  lsn_number synced_ = 0;
  copy_id last_copy_;
  std::optional<copy_progress> copying_;
  std::uint32_t chunks_written_ = 0; ///< of the copy, on disk or on the way
  std::uint32_t chunks_ = 0;         ///< that there are; 0 = not known after a restart
  std::vector<epoch_start> copy_history_;
  epoch_number epoch_ = 0;
  node_id leader_ = node_id::none; ///< of epoch_, as heard from
};

} // namespace lycosa::cluster
