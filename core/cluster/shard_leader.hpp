#pragma once

#include "core/cluster/messages.hpp"
#include "core/cluster/shard_log.hpp"
#include "core/cluster/shard_record.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace lycosa::cluster {

enum class append_refusal : std::uint8_t {
  not_leader, ///< or not any more: ask another node
  busy,       ///< too much is open, or the leadership is being handed over
  too_few,    ///< members in sync: it could not be acknowledged
};

/// One leadership of a shard: from an election to the moment it stops, which is for good.
///
/// Rules:
/// - A batch is acknowledged when it is on disk here and on every member of the in-sync set, and
///   the set has min_in_sync members, and the session's lease holds.
/// - The set that counts is the one of the record, together with every member that a proposal of
///   this leadership may have added without its knowing (Kafka's "maximal ISR").
/// - A follower is taken in once it holds all that is acknowledged, and this epoch's opening batch;
///   it is dropped when its session has ended, or it is silent, or has not kept a batch, for
///   `slow_after`.
/// - A follower whose end is not in this log has diverged; logs cannot be cut back here, so it is
///   dropped and copied. So is one for which the log does not reach back far enough.
/// - Copies are made one at a time. One whose follower is silent goes on where it was when that
///   comes back; it is given up when another waits for its turn, or after ten times `slow_after`.
/// - After it has stopped nothing is acknowledged, sent or proposed.
///
/// It holds the sizes and times of open batches and a place for each follower. Every call is
/// O(followers + batches sent).
class shard_leader {
public:
  /// `log` is the shard's, and must outlive this; `lsn` … `synced` is on disk. `record` is the one
  /// that says that `me` leads.
  shard_leader(const leadership& me, const shard_record& record, shard_log& log, lsn_number synced,
               const replication_limits& limits, mono_time lease_until, mono_time now,
               effects& out);

  /// Takes a batch of so many bytes in under the position returned. The caller writes it and says
  /// `synced`.
  tl::expected<entry_id, append_refusal> append(std::uint32_t bytes, mono_time now, effects& out);
  void synced(lsn_number through, mono_time now, effects& out);
  void receive(node_id from, const state_message& m, mono_time now, effects& out);
  /// The record as the store has it, from a watch or as the answer to a proposal.
  void record_seen(const shard_record& record, mono_time now, effects& out);
  void lease_extended(mono_time until) { lease_until_ = until; }
  /// The caller holds a view of the shard as of `at`, in so many pieces (≥ 1), for this copying.
  void snapshot_opened(copy_id id, entry_id at, std::uint32_t chunks, mono_time now, effects& out);
  void snapshot_failed(copy_id id);
  /// Who is there, with their sessions: a leadership is handed over only to a living one.
  void members_seen(const std::map<node_id, session_id>& members) { members_ = members; }
  void disk_failed(mono_time now, effects& out) { give_up(stop_reason::disk_failed, now, out); }
  /// Makes room for another leader, or for this node in another epoch.
  void give_up(stop_reason why, mono_time now, effects& out);
  /// A leader of a newer epoch was heard of, or the session has ended.
  void stop(stop_reason why, effects& out);
  void tick(mono_time now, effects& out);

  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Whether it may answer reads now: it leads, and all of its log is on every member.
  [[nodiscard]] bool serves(mono_time now) const {
    return !stopped_ && now < lease_until_ && committed_ >= opening_;
  }
  [[nodiscard]] lsn_number committed() const { return committed_; }
  [[nodiscard]] const shard_record& record() const { return record_; }

private:
  enum class follows : std::uint8_t { unknown, yes, unfit, copying };
  struct peer {
    follows how = follows::unknown;
    lsn_number acked = 0; ///< on its disk, and the same as here
    lsn_number next = 0;  ///< to send
    mono_time heard;      ///< of it last
    mono_time moved;      ///< `acked`, or the copy, rose last, or sending was begun again
    mono_time asked;      ///< something was sent last
    copy_id last_copy;    ///< newest that it has told of, or was told of
    copy_progress copy;
    std::uint32_t copy_next = 0; ///< piece to send
    std::uint32_t copy_chunks = 0;
    bool copy_open = false;
    std::vector<epoch_start> copy_history;
  };

  bool alive(mono_time now, effects& out);
  void follow_record(mono_time now, effects& out);
  void advance(mono_time now, effects& out);
  void ship(node_id to, peer& p, mono_time now, effects& out);
  void ask(node_id to, peer& p, mono_time now, effects& out);
  void ship_copy(node_id to, peer& p, mono_time now, effects& out);
  void begin_copy(node_id to, peer& p, mono_time now, effects& out);
  void give_up_copy(peer& p, effects& out);
  void end_copy(peer& p, effects& out);
  void judge(node_id from, peer& p, const state_message& m, mono_time now, effects& out);
  void trim(effects& out);

  // -- who is a member (shard_leader_members.cpp) ---
  [[nodiscard]] bool counts(node_id node) const;
  [[nodiscard]] bool slow(const peer& p, mono_time now) const;
  void settle_members(mono_time now, effects& out);
  [[nodiscard]] std::optional<shard_record> wanted_change(mono_time now);
  [[nodiscard]] std::optional<shard_record> wanted_shrink(mono_time now);
  void settle_handover(mono_time now, effects& out);
  [[nodiscard]] node_id successor() const;

  leadership me_;
  shard_record record_;
  shard_log& log_;
  replication_limits limits_;
  mono_time lease_until_;
  mono_time begun_;
  bool stopped_ = false;
  lsn_number opening_ = 0;
  lsn_number synced_ = 0;
  lsn_number committed_ = 0;
  lsn_number trimmed_ = 0;
  std::deque<mono_time> open_since_; ///< of batches past committed_ that this epoch took in
  std::map<node_id, peer> peers_;
  std::map<node_id, session_id> members_;
  std::vector<node_id> maybe_members_; ///< proposed since record_.version
  std::optional<mono_time> proposed_;  ///< what is proposed for record_.version has no outcome yet
  std::optional<mono_time> handing_over_; ///< since when
  std::optional<mono_time> no_handover_before_;
  std::uint64_t copies_ = 0;
};

} // namespace lycosa::cluster
