#include "actors/project_state.hpp"

#include <algorithm>

namespace lycosa::actors {

/// A long list is looked at `loop_limit` items a turn, so that no producer keeps the project from
/// handing out and settling (pyspider 463, 343).
void project_state::submit(submit_part_ptr part, std::uint32_t from) {
  if (draining_) return; // its promise answers `unavailable`
  const auto reject = [&](const submit_item& item, std::string why) {
    part->answer.rejected.push_back({item.index, std::string{item.record.taskid}, std::move(why)});
  };
  if (phase_ == phase::deleting || (!part->import && !accepts_tasks(facts_->status))) {
    const std::string why =
        phase_ == phase::deleting
            ? "project: is being deleted"
            : "project: not started, its status is " + std::string{to_string(facts_->status)};
    for (auto i = from; i < part->items.size(); ++i)
      reject(part->items[i], why);
    if (from > 0) part->open -= 1;
    if (part->open == 0) part->promise.answer(std::move(part->answer));
    return;
  }
  const auto at = now();
  const auto limit = queue_limit();
  const auto refused_before = refused_;
  std::vector<submit_op_ptr> ops(shards());
  const auto until = std::min<std::size_t>(part->items.size(), std::size_t{from} + env_.loop_limit);
  for (auto i = from; i < until; ++i) {
    const auto& item = part->items[i];
    // Commands on tasks that are queued already pass: they do not make the queue longer.
    const bool command = part->import || item.record.sched.force_update || item.record.sched.cancel;
    if (limit > 0 && !command && queued() + incoming_ >= limit) {
      reject(item, "queue_limit: the project's queue holds " + std::to_string(queued() + incoming_)
                       + " tasks, at its limit of " + std::to_string(limit));
      refused_ += 1;
      continue;
    }
    const auto hash = hash_task(facts_->name, item.record.taskid);
    auto& op = op_for(ops, shard_of(hash, shards()), part);
    op.at = at.wall;
    op.items.push_back({&item.record, item.index, hash, next_arrival(at.wall)});
    incoming_ += 1;
  }
  tally_up(*env_.meter, env_.meters->counts, tally::refused,
           static_cast<std::int64_t>(refused_ - refused_before));
  if (from > 0) part->open -= 1; // the turn that is over
  post(*part, ops, env_.writers);
  if (until < part->items.size()) {
    part->open += 1;
    const auto next = static_cast<std::uint32_t>(until);
    self_->send(self_, more_atom_v, std::move(part), next);
    return;
  }
  if (part->open == 0) part->promise.answer(std::move(part->answer));
}

void project_state::submitted(submit_op& op) {
  incoming_ -= op.items.size();
  auto& part = *op.part;
  auto& answer = part.answer;
  const auto at = now();
  if (op.failure) {
    answer.failure = *op.failure;
    for (const auto& item : op.items)
      answer.rejected.push_back({item.index, std::string{item.record->taskid}, op.failure->text()});
  } else {
    counts_[op.shard] = op.counts;
    counted(op.counted, at.wall);
    // What was due at once when it came is ready now, even if the clock was set back meanwhile.
    const auto ready_by = std::max(at.wall, op.at);
    for (std::size_t i = 0; i < op.items.size(); ++i) {
      const auto& out = op.outcomes[i];
      if (!out.error.empty()) {
        answer.rejected.push_back(
            {op.items[i].index, std::string{op.items[i].record->taskid}, out.error});
        continue;
      }
      switch (out.what) {
      case accept_outcome::created:
        answer.created += 1;
        if (out.queued) queue_up(out.key, out.position, ready_by);
        touch(out.key);
        break;
      case accept_outcome::restarted:
        answer.restarted += 1;
        if (out.queued)
          move_in_queue(out.key, out.position, ready_by);
        else
          queue_.erase(out.key);
        touch(out.key);
        break;
      case accept_outcome::cancelled:
        answer.cancelled += 1;
        queue_.erase(out.key);
        touch(out.key);
        break;
      case accept_outcome::ignored:
        answer.ignored += 1;
        answer.ignored_reasons[out.reason] += 1;
        answer.ignored_items.emplace_back(op.items[i].index, out.reason);
        break;
      }
    }
    if (phase_ == phase::deleting) queue_.clear();
  }
  if (op.part == finishing_) queued_on_finished(op);
  settle_down(); // before the answer: a client that then asks for a lease finds its tasks
  if (--part.open == 0) part.promise.answer(std::move(answer));
  op_back();
}

} // namespace lycosa::actors
