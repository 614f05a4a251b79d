#pragma once

#include "core/cluster/messages.hpp"
#include "core/cluster/session_lease.hpp"
#include "core/cluster/shard_follower.hpp"
#include "core/cluster/shard_leader.hpp"
#include "core/cluster/shard_log.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace lycosa::cluster {

/// A node's copy of a shard: follows, stands for election when there is no leader, leads when the
/// record says so. The door through which an actor uses all the rest.
///
/// Every call may append to `out` what is then to be done, in order. A message or a batch that an
/// effect speaks of is the one that was passed in the call.
///
/// Election: of the members of the in-sync set that are there, the one with the longest log should
/// lead, since whoever holds more has to be copied. They tell each other their ends; who knows of a
/// longer one waits, but not for ever. The compare-and-swap decides.
///
/// A leader leads only in the session in which it was elected: a process that was restarted may
/// have sent batches that it lost, so it needs another epoch to number new ones in.
class shard_replica {
public:
  /// What was found on disk.
  struct found {
    shard_log log;
    lsn_number synced = 0;
    copy_id last_copy;
    std::optional<copy_progress> copying;
    /// The newest epoch in which this process has led: it may not do so again, for what it has sent
    /// and lost. 0 after a start, since a session of another process led then.
    epoch_number led = 0;
  };

  shard_replica(node_id self, found disk, const replication_limits& limits);
  shard_replica(const shard_replica&) = delete; // parts of it know each other's places
  shard_replica& operator=(const shard_replica&) = delete;

  // -- the coordination store ---
  /// The session and until when it surely lasts, at its beginning and with every prolongation.
  void session_seen(session_id session, mono_time until, mono_time now, effects& out);
  void session_ended(effects& out);
  void members_seen(std::map<node_id, session_id> members);
  void record_seen(const shard_record& record, mono_time now, effects& out);

  // -- other nodes ---
  void receive(node_id from, const message& m, mono_time now, effects& out);

  // -- the disk ---
  void synced(lsn_number through, mono_time now, effects& out);
  void chunks_synced(copy_id id, std::uint32_t chunks, effects& out);
  void snapshot_opened(copy_id id, entry_id at, std::uint32_t chunks, mono_time now, effects& out);
  void snapshot_failed(copy_id id);
  void disk_failed(mono_time now, effects& out);
  /// Stops leading: what was taken in waits for members that do not come back.
  void give_up(mono_time now, effects& out);

  // -- clients ---
  tl::expected<entry_id, append_refusal> append(std::uint32_t bytes, mono_time now, effects& out);
  /// Whether it may answer reads.
  [[nodiscard]] bool serves(mono_time now) const { return leader_ && leader_->serves(now); }

  /// To be called at least every `limits.heartbeat / 2`.
  void tick(mono_time now, effects& out);

  [[nodiscard]] bool leads() const { return leader_ && !leader_->stopped(); }
  /// Whether the shard should be here. What is not wanted may be deleted, but for the name of the
  /// last copying: by it late orders to throw a copy away are known.
  [[nodiscard]] bool wanted() const {
    return !record_ || record_->is_replica(self_) || record_->is_in_sync(self_);
  }
  [[nodiscard]] epoch_number led() const { return last_led_; }
  [[nodiscard]] bool whole() const { return follower_.whole(); }
  [[nodiscard]] const shard_log& log() const { return log_; }
  [[nodiscard]] const std::optional<shard_record>& record() const { return record_; }

private:
  void lead_if_elected(mono_time now, effects& out);
  [[nodiscard]] bool may_stand(mono_time now) const;
  [[nodiscard]] bool leader_is_gone() const;
  void stand(mono_time now, effects& out);
  void tell_end(node_id to, bool asks, effects& out) const;
  void receive_candidate(node_id from, const candidate_message& m, effects& out);
  [[nodiscard]] bool is_best() const;

  node_id self_;
  replication_limits limits_;
  shard_log log_;
  shard_follower follower_;
  std::optional<shard_leader> leader_;
  epoch_number last_led_ = 0;
  session_id session_ = session_id::none;
  mono_time session_until_{};
  std::optional<shard_record> record_;
  std::map<node_id, session_id> members_;

  // -- standing for election ---
  std::optional<mono_time> decide_at_;
  int rounds_ = 0;
  std::map<node_id, entry_id> ends_; ///< of others, for the present record
};

} // namespace lycosa::cluster
