#include "core/cluster/shard_follower.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::cluster {

shard_follower::shard_follower(shard_log& log, lsn_number synced, copy_id last_copy,
                               std::optional<copy_progress> copying)
    : log_(log), synced_(synced), last_copy_(last_copy), copying_(copying),
      chunks_written_(copying ? copying->chunks : 0),
      epoch_(std::max(log.end().epoch, last_copy.epoch)) {}

void shard_follower::epoch_seen(epoch_number epoch) {
  if (epoch <= epoch_) return;
  epoch_ = epoch;
  leader_ = node_id::none;
}

/// Whether the sender leads, as far as is known here. One that does not any more is told so.
bool shard_follower::obeys(node_id from, epoch_number epoch, effects& out) {
  epoch_seen(epoch);
  if (epoch == epoch_)
    leader_ = from;
  else
    answer(from, false, out);
  return epoch == epoch_;
}

void shard_follower::answer(node_id to, bool gap, effects& out) const {
  out.emplace_back(
      effect::send{to, state_message{epoch_, last_copy_, log_.end(), synced_, gap, copying_}});
}

void shard_follower::receive(node_id from, const append_message& m, effects& out) {
  if (!obeys(from, m.epoch, out)) return;
  if (copying_) return answer(from, false, out);
  // Behind the end, or with another past than this log's: the leader sees which from the answer.
  if (!log_.continues(m.before)) return answer(from, m.before.lsn > log_.end().lsn, out);
  effect::write_batches taken;
  for (const auto& b : m.batches) {
    if (b.id.lsn <= log_.end().lsn) {
      if (log_.epoch_at(b.id.lsn) != b.id.epoch) return answer(from, false, out);
      ++taken.first;
      continue;
    }
    log_.append(b.id, b.bytes);
    ++taken.count;
  }
  if (taken.count > 0)
    out.emplace_back(taken); // answered when it is on disk
  else
    answer(from, false, out);
  const auto trim = std::min({m.trim, m.committed, synced_});
  if (trim < log_.begin()) return;
  log_.trim(trim);
  out.emplace_back(effect::trim_log{trim});
}

void shard_follower::synced(lsn_number through, effects& out) {
  if (copying_ || through <= synced_) return;
  synced_ = through;
  if (leader_ != node_id::none) answer(leader_, false, out);
}

void shard_follower::receive(node_id from, const copy_message& m, effects& out) {
  if (!obeys(from, m.epoch, out) || m.id < last_copy_) return;
  if (m.id > last_copy_) {
    if (m.chunk != 0) return; // it begins with the first piece, which will come again
    begin_copy(m, out);
  }
  if (!copying_) return answer(from, false, out); // it is finished
  chunks_ = m.chunks;
  copy_history_ = m.history;
  if (m.chunk == chunks_written_) {
    ++chunks_written_;
    out.emplace_back(effect::write_chunk{m.chunk, m.chunk + 1 == m.chunks});
  } else {
    answer(from, false, out);
  }
}

void shard_follower::begin_copy(const copy_message& m, effects& out) {
  last_copy_ = m.id;
  copying_ = copy_progress{m.id, m.at, 0};
  chunks_written_ = 0;
  synced_ = 0;
  log_.restart({}, {});
  out.emplace_back(effect::discard_shard{*copying_});
}

void shard_follower::chunks_synced(copy_id id, std::uint32_t chunks, effects& out) {
  if (!copying_ || copying_->id != id || chunks <= copying_->chunks) return;
  copying_->chunks = chunks;
  if (chunks_ > 0 && chunks >= chunks_) {
    log_.restart(copying_->at, std::move(copy_history_));
    synced_ = copying_->at.lsn;
    copying_.reset();
  }
  if (leader_ != node_id::none) answer(leader_, false, out);
}

} // namespace lycosa::cluster
