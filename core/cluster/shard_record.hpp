#pragma once

#include "core/cluster/types.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace lycosa::cluster {

/// What stands in the coordination store for a shard, and is changed there by compare-and-swap
/// only: whoever proposes a change names the version it was made from.
///
/// The balancer writes `replicas`, where the shard should be; the shard's leader writes `in_sync`,
/// where it is, and hands the leadership on; members of `in_sync` elect a leader when there is
/// none. Sources: Kafka's in-sync replicas, PacificA (Lin et al. 2008) for the configuration kept
/// apart from the data.
///
/// Everything acknowledged is on every member of `in_sync`. All rules below serve that sentence.
struct shard_record {
  epoch_number epoch = 0;
  node_id leader = node_id::none;               ///< none = one is to be elected
  session_id leader_session = session_id::none; ///< the stay in which it was elected
  std::vector<node_id> in_sync;                 ///< sorted; never empty
  std::vector<node_id> replicas;                ///< the first should lead
  std::uint32_t min_in_sync = 1;                ///< with fewer nothing is acknowledged
  std::uint64_t version = 0;                    ///< given by the store; rises with each change

  [[nodiscard]] bool is_in_sync(node_id node) const;
  [[nodiscard]] bool is_replica(node_id node) const;
  friend bool operator==(const shard_record&, const shard_record&) = default;
};

enum class refusal : std::uint8_t {
  not_leader,   ///< only the leader, in its own epoch, may propose this
  not_in_sync,  ///< it may lack what was acknowledged
  not_replica,  ///< the balancer does not want the shard there
  too_few,      ///< fewer than min_in_sync would be left
  leader_alive, ///< the leader's session has not ended
  no_change,
};
[[nodiscard]] std::string_view to_string(refusal why);

/// What a change looks like, or why it may not be proposed. The version stays that of `from`.
using proposal = tl::expected<shard_record, refusal>;

/// Who asks: a leader speaks for the epoch it was elected in.
struct leadership {
  node_id node = node_id::none;
  session_id session = session_id::none;
  epoch_number epoch = 0;
};

/// The record of a new shard, or of one that was a single node's until now.
[[nodiscard]] shard_record found_shard(node_id only, std::vector<node_id> replicas,
                                       std::uint32_t min_in_sync);

/// The leader takes in a follower that has caught up. From proposing this until the outcome is
/// known the leader must count the follower as a member: it may already be one.
[[nodiscard]] proposal grow(const shard_record& from, const leadership& by, node_id member);

/// The leader drops a follower. Not below min_in_sync: nothing could be acknowledged afterwards
/// either, and the follower would be lost as a successor (cf. Kafka's eligible leader replicas,
/// KIP-966). Except `unfit` ones, which can follow again only after their copy is thrown away.
[[nodiscard]] proposal shrink(const shard_record& from, const leadership& by, node_id member,
                              bool unfit);

/// The leader hands over to a member. It must have stopped acknowledging before it asks.
[[nodiscard]] proposal hand_over(const shard_record& from, const leadership& by, node_id to,
                                 session_id to_session);

/// The leader gives up, e.g. because its disk fails. It must have stopped acknowledging.
[[nodiscard]] proposal resign(const shard_record& from, const leadership& by);

/// A member makes itself the leader of the next epoch. `leader_gone`: the leader's session has
/// ended; the store has to check that again, in the same transaction. A node that finds itself
/// recorded as the leader need not wait for its former session: only one process has its directory.
[[nodiscard]] proposal elect(const shard_record& from, node_id candidate, session_id session,
                             bool leader_gone);

/// The balancer says where the shard should be.
[[nodiscard]] proposal place(const shard_record& from, std::vector<node_id> replicas);

/// Not above the members there are, or the shard would stop.
[[nodiscard]] proposal require(const shard_record& from, std::uint32_t min_in_sync);

} // namespace lycosa::cluster
