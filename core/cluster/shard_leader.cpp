#include "core/cluster/shard_leader.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::cluster {

shard_leader::shard_leader(const leadership& me, const shard_record& record, shard_log& log,
                           lsn_number synced, const replication_limits& limits,
                           mono_time lease_until, mono_time now, effects& out)
    : me_(me), record_(record), log_(log), limits_(limits), lease_until_(lease_until), begun_(now),
      synced_(synced), trimmed_(log.begin() - 1) {
  const entry_id opening{me.epoch, log_.end().lsn + 1};
  log_.append(opening, 0);
  opening_ = opening.lsn;
  out.emplace_back(effect::write_opening{opening});
  follow_record(now, out);
  for (auto& [node, p] : peers_)
    ask(node, p, now, out);
}

/// Whether it may go on at this moment; stops when it may not.
bool shard_leader::alive(mono_time now, effects& out) {
  if (!stopped_ && now >= lease_until_) stop(stop_reason::lease_ended, out);
  return !stopped_;
}

void shard_leader::stop(stop_reason why, effects& out) {
  if (stopped_) return;
  stopped_ = true;
  out.emplace_back(effect::fail_open{why});
  for (auto& [node, p] : peers_)
    end_copy(p, out);
}

tl::expected<entry_id, append_refusal> shard_leader::append(std::uint32_t bytes, mono_time now,
                                                            effects& out) {
  if (!alive(now, out)) return tl::unexpected(append_refusal::not_leader);
  if (handing_over_ || open_since_.size() >= limits_.open_batches)
    return tl::unexpected(append_refusal::busy);
  if (record_.in_sync.size() < record_.min_in_sync) return tl::unexpected(append_refusal::too_few);
  const entry_id id{me_.epoch, log_.end().lsn + 1};
  log_.append(id, bytes);
  open_since_.push_back(now);
  for (auto& [node, p] : peers_)
    ship(node, p, now, out);
  return id;
}

void shard_leader::synced(lsn_number through, mono_time now, effects& out) {
  synced_ = std::max(synced_, through);
  if (alive(now, out)) advance(now, out);
}

void shard_leader::give_up(stop_reason why, mono_time now, effects& out) {
  if (!alive(now, out)) return;
  const auto next = resign(record_, me_);
  stop(why, out);
  if (next) out.emplace_back(effect::propose{*next});
}

void shard_leader::record_seen(const shard_record& record, mono_time now, effects& out) {
  if (stopped_ || record.version <= record_.version) return;
  if (record.epoch != me_.epoch || record.leader != me_.node
      || record.leader_session != me_.session) {
    stop(stop_reason::fenced, out);
    return;
  }
  // Whatever was proposed for the former version has won or lost; the record tells which.
  record_ = record;
  maybe_members_.clear();
  proposed_.reset();
  follow_record(now, out);
  if (!alive(now, out)) return;
  for (auto& [node, p] : peers_)
    if (p.how == follows::unfit) begin_copy(node, p, now, out);
  advance(now, out);
  settle_members(now, out);
}

/// Keeps a place for everyone who has, or should have, a copy.
void shard_leader::follow_record(mono_time now, effects& out) {
  const auto concerns = [&](node_id n) { return record_.is_replica(n) || record_.is_in_sync(n); };
  for (auto p = peers_.begin(); p != peers_.end();) {
    if (concerns(p->first)) {
      ++p;
      continue;
    }
    end_copy(p->second, out);
    p = peers_.erase(p);
  }
  for (const auto* nodes : {&record_.in_sync, &record_.replicas})
    for (const auto node : *nodes) {
      if (node == me_.node || peers_.contains(node)) continue;
      peer p;
      p.heard = p.moved = p.asked = now;
      peers_.emplace(node, p);
    }
}

void shard_leader::receive(node_id from, const state_message& m, mono_time now, effects& out) {
  if (!alive(now, out)) return;
  if (m.epoch > me_.epoch) return stop(stop_reason::fenced, out);
  const auto found = peers_.find(from);
  // What a follower says in an older epoch may have changed under the leader of that one.
  if (m.epoch < me_.epoch || found == peers_.end()) return;
  auto& p = found->second;
  p.heard = now;
  if (m.copy < p.last_copy) { // from before it was told to throw that away
    if (p.how == follows::copying) return ship_copy(from, p, now, out);
    if (p.how == follows::yes) return;
    p.how = follows::unfit; // that order was given up, and may arrive yet
    return begin_copy(from, p, now, out);
  }
  p.last_copy = m.copy;
  // What is on its disk stays there: this was said before something that has already arrived.
  if (p.how == follows::yes && !m.copying && m.end.lsn < p.acked) return;
  judge(from, p, m, now, out);
  advance(now, out);
  settle_members(now, out);
}

/// What a follower's state means for how it is kept up.
void shard_leader::judge(node_id from, peer& p, const state_message& m, mono_time now,
                         effects& out) {
  if (m.copying) {
    if (p.how != follows::copying || m.copying->id != p.copy.id) {
      p.how = follows::unfit; // it was being copied by somebody else, or in an earlier attempt
      begin_copy(from, p, now, out);
    } else {
      if (m.copying->chunks > p.copy.chunks) {
        p.copy.chunks = m.copying->chunks;
        p.copy_next = std::max(p.copy_next, p.copy.chunks);
        p.moved = now;
      }
      ship_copy(from, p, now, out);
    }
    return;
  }
  if (!log_.continues(m.end) || m.end.lsn + 1 < log_.begin()) {
    if (p.how == follows::copying && p.copy_open) return;
    p.how = follows::unfit;
    begin_copy(from, p, now, out);
    return;
  }
  if (p.how != follows::yes) {
    end_copy(p, out);
    p.how = follows::yes;
    p.acked = 0;
    p.next = m.end.lsn + 1;
    p.moved = now;
  } else if (m.gap && m.end.lsn + 1 < p.next && now - p.moved >= limits_.resend_after / 4) {
    p.next = m.end.lsn + 1; // something was lost on the way
    p.moved = now;
  }
  if (const auto kept = std::min(m.synced, m.end.lsn); kept > p.acked) {
    p.acked = kept;
    p.moved = now;
  }
  p.next = std::max(p.next, p.acked + 1);
  ship(from, p, now, out);
}

/// Sends what the window has room for.
void shard_leader::ship(node_id to, peer& p, mono_time now, effects& out) {
  if (p.how != follows::yes) return;
  const auto end = log_.end().lsn;
  std::uint64_t in_flight = 0;
  for (auto lsn = std::max(p.acked + 1, log_.begin()); lsn < p.next; ++lsn)
    in_flight += log_.size_of(lsn);
  while (p.next <= end && p.next - p.acked <= limits_.window_batches) {
    if (p.next < log_.begin()) { // trimmed under it
      p.how = follows::unfit;
      return begin_copy(to, p, now, out);
    }
    append_message m{me_.epoch, log_.at(p.next - 1), {}, committed_, trimmed_};
    while (p.next <= end && m.batches.size() < limits_.message_batches
           && p.next - p.acked <= limits_.window_batches) {
      const auto bytes = log_.size_of(p.next);
      if (in_flight > 0 && in_flight + bytes > limits_.window_bytes) break;
      m.batches.push_back({log_.at(p.next), bytes});
      in_flight += bytes;
      ++p.next;
    }
    if (m.batches.empty()) return;
    p.asked = now;
    out.emplace_back(effect::send{to, std::move(m)});
  }
}

/// Asks how far a follower is; tells it what is committed.
void shard_leader::ask(node_id to, peer& p, mono_time now, effects& out) {
  p.asked = now;
  const auto before = p.how == follows::yes ? p.next - 1 : log_.end().lsn;
  out.emplace_back(
      effect::send{to, append_message{me_.epoch, log_.at(before), {}, committed_, trimmed_}});
}

/// Moves the watermark to what every member has on disk.
void shard_leader::advance(mono_time now, effects& out) {
  if (!alive(now, out) || record_.in_sync.size() < record_.min_in_sync) return;
  auto everywhere = synced_;
  for (const auto* nodes : {&record_.in_sync, &maybe_members_})
    for (const auto node : *nodes) {
      if (node == me_.node) continue;
      const auto& p = peers_.at(node);
      everywhere = std::min(everywhere, p.how == follows::yes ? p.acked : 0);
    }
  if (everywhere <= committed_) return;
  const auto first_open = log_.end().lsn + 1 - open_since_.size();
  for (auto lsn = first_open; lsn <= everywhere; ++lsn)
    open_since_.pop_front();
  committed_ = everywhere;
  out.emplace_back(effect::acknowledge{committed_});
  trim(out);
}

/// Lets go of what no follower needs, and of what would take too much room.
void shard_leader::trim(effects& out) {
  auto needed = committed_;
  bool copying = false;
  for (const auto& [node, p] : peers_) {
    copying = copying || p.how == follows::copying;
    if (p.how == follows::unfit) continue; // it will be copied, whatever the log holds
    needed = std::min(needed, p.how == follows::copying ? p.copy.at.lsn : p.acked);
  }
  auto through = std::max(trimmed_, needed);
  auto held = log_.bytes();
  const auto most = copying ? limits_.copy_log_bytes : limits_.log_bytes;
  for (auto lsn = log_.begin(); lsn <= committed_ && (held > most || lsn <= through); ++lsn) {
    held -= log_.size_of(lsn);
    through = std::max(through, lsn);
  }
  if (through <= trimmed_) return;
  trimmed_ = through;
  log_.trim(through);
  out.emplace_back(effect::trim_log{through});
}

void shard_leader::tick(mono_time now, effects& out) {
  if (!alive(now, out)) return;
  for (auto& [node, p] : peers_) {
    if (p.how == follows::copying && now - p.heard >= 10 * limits_.slow_after) {
      give_up_copy(p, out);
    } else if (p.how == follows::copying) {
      if (p.copy_open && now - p.moved >= limits_.resend_after) {
        p.copy_next = p.copy.chunks;
        p.moved = now;
      }
      ship_copy(node, p, now, out);
    } else if (p.how == follows::unfit) {
      begin_copy(node, p, now, out);
    } else if (p.how == follows::yes && p.next > p.acked + 1
               && now - p.moved >= limits_.resend_after) {
      p.next = p.acked + 1; // go back: what is there already is skipped by the follower
      p.moved = now;
      ship(node, p, now, out);
    }
    if (now - p.asked >= limits_.heartbeat) ask(node, p, now, out);
  }
  settle_members(now, out);
}

// -- copying a shard whole -----------------------------------------------------------------------

/// Only outside the in-sync set: from its first piece on a follower holds nothing to go on with.
void shard_leader::begin_copy(node_id to, peer& p, mono_time now, effects& out) {
  if (counts(to)) return;
  for (auto& [node, other] : peers_) {
    if (other.how != follows::copying) continue;
    if (now - other.heard < limits_.slow_after) return; // one at a time
    give_up_copy(other, out);
  }
  end_copy(p, out);
  p.how = follows::copying;
  p.acked = 0;
  p.copy = {{me_.epoch, ++copies_}, {}, 0};
  p.copy_next = 0;
  p.moved = now;
  p.copy_open = true;
  p.copy_chunks = 0; // until the view is there
  out.emplace_back(effect::open_snapshot{p.copy.id});
}

void shard_leader::snapshot_opened(copy_id id, entry_id at, std::uint32_t chunks, mono_time now,
                                   effects& out) {
  if (!alive(now, out)) return;
  for (auto& [node, p] : peers_) {
    if (p.how != follows::copying || p.copy.id != id) continue;
    p.copy.at = at;
    p.copy_chunks = chunks;
    p.copy_history = log_.history();
    std::erase_if(p.copy_history, [&](const epoch_start& s) { return s.first > at.lsn; });
    ship_copy(node, p, now, out);
    return;
  }
  out.emplace_back(effect::close_snapshot{id});
}

void shard_leader::snapshot_failed(copy_id id) {
  for (auto& [node, p] : peers_)
    if (p.how == follows::copying && p.copy.id == id) {
      p.copy_open = false;
      p.how = follows::unfit;
    }
}

void shard_leader::ship_copy(node_id to, peer& p, mono_time now, effects& out) {
  if (p.how != follows::copying || p.copy_chunks == 0) return;
  if (p.copy.at.lsn + 1 < log_.begin()) { // the log has outgrown its bound meanwhile
    p.how = follows::unfit;
    return begin_copy(to, p, now, out);
  }
  while (p.copy_next < p.copy_chunks && p.copy_next - p.copy.chunks < limits_.copy_window) {
    p.asked = now;
    p.last_copy = p.copy.id;
    out.emplace_back(effect::send{to, copy_message{me_.epoch, p.copy.id, p.copy.at, p.copy_history,
                                                   p.copy_next, p.copy_chunks}});
    ++p.copy_next;
  }
}

void shard_leader::give_up_copy(peer& p, effects& out) {
  end_copy(p, out);
  p.how = follows::unknown;
}

void shard_leader::end_copy(peer& p, effects& out) {
  if (!p.copy_open) return;
  p.copy_open = false;
  out.emplace_back(effect::close_snapshot{p.copy.id});
}

} // namespace lycosa::cluster
