#include "core/cluster/shard_replica.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::cluster {

namespace {

/// How often a candidate lets a better one go first.
constexpr int patience = 3;

} // namespace

shard_replica::shard_replica(node_id self, found disk, const replication_limits& limits)
    : self_(self), limits_(limits), log_(std::move(disk.log)),
      follower_(log_, disk.synced, disk.last_copy, disk.copying), last_led_(disk.led) {}

void shard_replica::session_seen(session_id session, mono_time until, mono_time now, effects& out) {
  if (session != session_) session_ended(out);
  session_ = session;
  session_until_ = std::max(session_until_, until);
  if (leader_) leader_->lease_extended(session_until_);
  lead_if_elected(now, out);
}

void shard_replica::session_ended(effects& out) {
  if (leader_) leader_->stop(stop_reason::lease_ended, out);
  session_ = session_id::none;
  session_until_ = {};
}

void shard_replica::members_seen(std::map<node_id, session_id> members) {
  members_ = std::move(members);
  if (leader_) leader_->members_seen(members_);
}

void shard_replica::record_seen(const shard_record& record, mono_time now, effects& out) {
  if (record_ && record.version <= record_->version) return;
  // Epochs only rise. A record older than this log is of a store that was put back to a former
  // state, in which the set of those that hold everything may be another.
  if (record.epoch < log_.end().epoch) return;
  record_ = record;
  decide_at_.reset();
  rounds_ = 0;
  ends_.clear();
  follower_.epoch_seen(record.epoch);
  if (leader_) leader_->record_seen(record, now, out);
  lead_if_elected(now, out);
}

void shard_replica::lead_if_elected(mono_time now, effects& out) {
  if (!record_ || record_->leader != self_ || record_->leader_session != session_
      || record_->epoch <= last_led_ || !follower_.whole() || now >= session_until_)
    return;
  last_led_ = record_->epoch;
  leader_.emplace(leadership{self_, session_, record_->epoch}, *record_, log_, follower_.synced(),
                  limits_, session_until_, now, out);
  leader_->members_seen(members_);
}

void shard_replica::receive(node_id from, const message& m, mono_time now, effects& out) {
  if (const auto* a = std::get_if<append_message>(&m)) {
    if (leads() && a->epoch > last_led_) leader_->stop(stop_reason::fenced, out);
    follower_.receive(from, *a, out);
  } else if (const auto* c = std::get_if<copy_message>(&m)) {
    if (leads() && c->epoch > last_led_) leader_->stop(stop_reason::fenced, out);
    follower_.receive(from, *c, out);
  } else if (const auto* s = std::get_if<state_message>(&m)) {
    if (leader_) leader_->receive(from, *s, now, out);
  } else {
    receive_candidate(from, std::get<candidate_message>(m), out);
  }
}

void shard_replica::synced(lsn_number through, mono_time now, effects& out) {
  follower_.synced(through, out);
  if (leader_) leader_->synced(through, now, out);
}

void shard_replica::chunks_synced(copy_id id, std::uint32_t chunks, effects& out) {
  follower_.chunks_synced(id, chunks, out);
}

void shard_replica::snapshot_opened(copy_id id, entry_id at, std::uint32_t chunks, mono_time now,
                                    effects& out) {
  if (leads())
    leader_->snapshot_opened(id, at, chunks, now, out);
  else
    out.emplace_back(effect::close_snapshot{id});
}

void shard_replica::snapshot_failed(copy_id id) {
  if (leader_) leader_->snapshot_failed(id);
}

void shard_replica::disk_failed(mono_time now, effects& out) {
  if (leader_) leader_->disk_failed(now, out);
}

void shard_replica::give_up(mono_time now, effects& out) {
  if (leader_) leader_->give_up(stop_reason::not_enough, now, out);
}

tl::expected<entry_id, append_refusal> shard_replica::append(std::uint32_t bytes, mono_time now,
                                                             effects& out) {
  if (!leader_) return tl::unexpected(append_refusal::not_leader);
  return leader_->append(bytes, now, out);
}

void shard_replica::tick(mono_time now, effects& out) {
  if (leader_) leader_->tick(now, out);
  lead_if_elected(now, out);
  stand(now, out);
}

// -- election ------------------------------------------------------------------------------------

bool shard_replica::leader_is_gone() const {
  return std::none_of(members_.begin(), members_.end(),
                      [&](const auto& m) { return m.second == record_->leader_session; });
}

bool shard_replica::may_stand(mono_time now) const {
  if (leads() || !record_ || !record_->is_in_sync(self_) || !follower_.whole()) return false;
  if (session_ == session_id::none || now >= session_until_) return false;
  return record_->leader == node_id::none || record_->leader == self_ || leader_is_gone();
}

void shard_replica::stand(mono_time now, effects& out) {
  if (!may_stand(now)) {
    decide_at_.reset();
    return;
  }
  if (decide_at_ && now < *decide_at_) return;
  if (decide_at_ && (is_best() || ++rounds_ >= patience)) {
    rounds_ = 0;
    decide_at_ = now + limits_.propose_retry;
    const bool vacant = record_->leader == node_id::none || record_->leader == self_;
    if (const auto next = elect(*record_, self_, session_, leader_is_gone()))
      out.emplace_back(effect::propose{*next, vacant ? session_id::none : record_->leader_session});
    return;
  }
  decide_at_ = now + limits_.election_wait;
  for (const auto node : record_->in_sync)
    if (node != self_) tell_end(node, true, out);
}

void shard_replica::tell_end(node_id to, bool asks, effects& out) const {
  out.emplace_back(effect::send{to, candidate_message{record_->version, log_.end(), asks}});
}

void shard_replica::receive_candidate(node_id from, const candidate_message& m, effects& out) {
  if (!record_ || m.version != record_->version || leads()) return;
  ends_[from] = m.end;
  if (m.asks && record_->is_in_sync(self_)) tell_end(from, false, out);
}

/// No other member is known to hold more, nor as much and to be the balancer's choice.
bool shard_replica::is_best() const {
  const auto rank = [&](node_id n) {
    return std::find(record_->replicas.begin(), record_->replicas.end(), n)
           - record_->replicas.begin();
  };
  const auto own = log_.end();
  return std::none_of(ends_.begin(), ends_.end(), [&](const auto& other) {
    return other.second > own || (other.second == own && rank(other.first) < rank(self_));
  });
}

} // namespace lycosa::cluster
