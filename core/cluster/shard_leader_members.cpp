// Who is in the in-sync set, and who leads next: what a leader proposes.
#include "core/cluster/shard_leader.hpp"

#include <algorithm>

namespace lycosa::cluster {

/// Whether it is a member, or may be without this leader's knowing.
bool shard_leader::counts(node_id node) const {
  return record_.is_in_sync(node)
         || std::find(maybe_members_.begin(), maybe_members_.end(), node) != maybe_members_.end();
}

/// Whether it would hold everybody up: silent, or without a batch that is as old.
bool shard_leader::slow(const peer& p, mono_time now) const {
  if (now - p.heard >= limits_.slow_after) return true;
  const auto acked = p.how == follows::yes ? p.acked : 0;
  const auto end = log_.end().lsn;
  if (acked >= end) return false;
  const auto first_open = end + 1 - open_since_.size();
  const auto since = acked + 1 < first_open ? begun_ : open_since_[acked + 1 - first_open];
  return now - since >= limits_.slow_after;
}

void shard_leader::settle_members(mono_time now, effects& out) {
  if (!stopped_) settle_handover(now, out);
  if (stopped_ || (proposed_ && now - *proposed_ < limits_.propose_retry)) return;
  auto next = wanted_change(now);
  // What was proposed before is not wanted any more, but may have happened or happen yet. Any
  // change of the record settles that.
  if (!next && proposed_) next = record_;
  if (!next) return;
  for (const auto node : next->in_sync)
    if (!counts(node)) maybe_members_.push_back(node);
  proposed_ = now;
  out.emplace_back(effect::propose{*next});
}

std::optional<shard_record> shard_leader::wanted_change(mono_time now) {
  if (auto fewer = wanted_shrink(now)) return fewer;
  for (const auto& [node, p] : peers_) {
    if (p.how != follows::yes || !record_.is_replica(node) || record_.is_in_sync(node)) continue;
    // All that is acknowledged must be there, and the opening: its epoch on the follower's disk
    // keeps orders of former leaders to throw the copy away from being obeyed later.
    if (p.acked < std::max(committed_, opening_) || slow(p, now)) continue;
    if (!members_.empty() && !members_.contains(node)) continue;
    if (log_.end().lsn - p.acked > limits_.window_batches) continue;
    if (auto more = grow(record_, me_, node)) return *more;
  }
  return {};
}

std::optional<shard_record> shard_leader::wanted_shrink(mono_time now) {
  std::optional<shard_record> best;
  for (const auto& [node, p] : peers_) {
    if (!record_.is_in_sync(node)) continue;
    const bool unfit = p.how == follows::unfit;
    // Whose session has ended is not waited for: a takeover would take that much longer.
    const bool gone = !members_.empty() && !members_.contains(node);
    if (!unfit && !gone && !slow(p, now) && record_.is_replica(node)) continue;
    const auto fewer = shrink(record_, me_, node, unfit);
    if (!fewer) continue;
    if (unfit) return *fewer;
    if (!best || !record_.is_replica(node)) best = *fewer;
  }
  return best;
}

/// To whom the leadership should go now; none = it stays.
node_id shard_leader::successor() const {
  const auto end = log_.end().lsn;
  const auto usable = [&](node_id n) {
    const auto p = peers_.find(n);
    return p != peers_.end() && record_.is_in_sync(n) && members_.contains(n)
           && p->second.how == follows::yes && end - p->second.acked <= limits_.message_batches;
  };
  const auto first = record_.replicas.front();
  if (first == me_.node) return node_id::none;
  if (usable(first)) return first;
  if (record_.is_replica(me_.node)) return node_id::none;
  const auto any = std::find_if(record_.replicas.begin(), record_.replicas.end(), usable);
  return any == record_.replicas.end() ? node_id::none : *any;
}

/// Takes nothing in any more, waits until the successor has everything, stops, and only then says
/// so to the store.
void shard_leader::settle_handover(mono_time now, effects& out) {
  if (no_handover_before_ && now < *no_handover_before_) return;
  const auto to = successor();
  if (to == node_id::none) {
    handing_over_.reset();
    return;
  }
  if (proposed_) return;
  if (!handing_over_) {
    if (committed_ < opening_) return;
    handing_over_ = now;
  }
  if (now - *handing_over_ >= limits_.slow_after) {
    handing_over_.reset();
    no_handover_before_ = now + 10 * limits_.slow_after;
    return;
  }
  const auto end = log_.end().lsn;
  if (committed_ < end || peers_.at(to).acked < end) return;
  const auto next = hand_over(record_, me_, to, members_.at(to));
  stop(stop_reason::handed_over, out);
  if (next) out.emplace_back(effect::propose{*next});
}

} // namespace lycosa::cluster
