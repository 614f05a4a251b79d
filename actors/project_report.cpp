#include "actors/project_state.hpp"

namespace lycosa::actors {

namespace {

constexpr const char* stale = "stale lease";

const char* why_not(lease_verdict v) {
  switch (v) {
  case lease_verdict::not_leased:
    return "the task is not handed out";
  case lease_verdict::unknown:
    return "the task is not queued";
  default:
    return stale;
  }
}

} // namespace

void project_state::reject(report_part& part, const report_item& item, std::string why) {
  part.answer.rejected.push_back({item.index, std::string{item.pack.taskid}, std::move(why)});
}

void project_state::report(report_part_ptr part, std::uint32_t from) {
  if (draining_) return;
  if (phase_ == phase::deleting) {
    for (auto i = from; i < part->items.size(); ++i)
      reject(*part, part->items[i], "project: is being deleted");
    if (from > 0) part->open -= 1;
    if (part->open == 0) part->promise.answer(std::move(part->answer));
    return;
  }
  if (loading() && from == 0) {
    // The queue is not complete yet: a task it does not know may still come.
    for (const auto& item : part->items) {
      if (item.pack.taskid == get_info_id) continue;
      if (item.lease && queue_.contains(item.lease->key)) continue;
      held_reports_.push_back(std::move(part));
      return;
    }
  }
  const auto at = now().wall;
  std::vector<report_op_ptr> ops(shards());
  std::vector<find_op_ptr> finds(shards());
  const auto until = std::min<std::size_t>(part->items.size(), std::size_t{from} + env_.loop_limit);
  for (auto i = from; i < until; ++i) {
    const auto& item = part->items[i];
    if (item.pack.taskid == get_info_id) {
      answered_info(*part, item);
    } else if (item.lease) {
      const auto& token = *item.lease;
      if (token.project != facts_->id || token.key.shard() >= shards()) {
        reject(*part, item, stale);
        continue;
      }
      const auto verdict = queue_.judge(token.key, token, epoch_of(token.key));
      if (may_settle(verdict, token.key))
        add_report(ops, part, item, token.key, at);
      else
        reject(*part, item, stale);
    } else {
      const auto hash = hash_task(facts_->name, item.pack.taskid);
      auto& find = op_for(finds, shard_of(hash, shards()), part);
      find.items.push_back(i);
      find.hashes.push_back(hash);
    }
  }
  if (from > 0) part->open -= 1; // the turn that is over
  post(*part, finds, env_.readers);
  if (until < part->items.size()) {
    part->open += 1;
    self_->send(self_, more_atom_v, part, static_cast<std::uint32_t>(until));
  }
  settle_reports(part, ops);
}

void project_state::found(find_op& op) {
  auto& part = *op.part;
  const auto at = now().wall;
  std::vector<report_op_ptr> ops(shards());
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = part.items[op.items[i]];
    if (op.failure) {
      part.answer.failure = *op.failure;
      reject(part, item, op.failure->text());
    } else if (!op.slots[i]) {
      reject(part, item, "unknown task");
    } else {
      const auto key = op.slots[i]->key;
      const auto verdict = queue_.judge(key, std::nullopt, epoch_of(key));
      if (may_settle(verdict, key))
        add_report(ops, op.part, item, key, at);
      else
        reject(part, item, why_not(verdict));
    }
  }
  part.open -= 1;
  settle_reports(op.part, ops);
  op_back();
}

void project_state::add_report(std::vector<report_op_ptr>& ops, const report_part_ptr& part,
                               const report_item& said, task_key key, wall_time at) {
  report_op::item item;
  item.said = &said;
  item.key = key;
  if (said.lease) {
    item.generation = said.lease->generation;
    item.generation_known = true;
  }
  if (const auto state = queue_.state_of(key)) {
    item.stood = state->after.value_or(state->position);
    item.restarted = state->after.has_value();
    item.perhaps_again = state->recovered && !said.lease;
  } else {
    item.queued_before = first_arrival_;
    item.perhaps_again = !said.lease;
  }
  item.arrival = next_arrival(at);
  queue_.begin_settle(key);
  op_for(ops, key.shard(), part).items.push_back(item);
}

/// Sends what was judged good to the shards; answers if there is nothing to wait for.
void project_state::settle_reports(const report_part_ptr& part, std::vector<report_op_ptr>& ops) {
  post(*part, ops, env_.writers);
  if (part->open == 0) part->promise.answer(std::move(part->answer));
}

void project_state::reported(report_op& op) {
  auto& part = *op.part;
  auto& answer = part.answer;
  const auto at = now();
  if (op.failure) answer.failure = *op.failure;
  if (!op.failure) {
    counts_[op.shard] = op.counts;
    counted(op.counted, at.wall);
  }
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    const auto& item = op.items[i];
    if (op.failure) {
      queue_.abort_settle(item.key, at.wall);
      reject(part, *item.said, op.failure->text());
      continue;
    }
    const auto& out = op.outcomes[i];
    if (!out.error.empty()) {
      if (out.forget) {
        queue_.erase(item.key);
        touch(item.key);
      } else {
        queue_.abort_settle(item.key, at.wall);
      }
      reject(part, *item.said, out.error);
      continue;
    }
    touch(item.key);
    counted(item.said->pack, out.what, at);
    switch (out.what) {
    case report_outcome::done:
      answer.done += 1;
      queue_.settled(item.key);
      break;
    case report_outcome::failed:
      answer.failed += 1;
      queue_.settled(item.key);
      break;
    case report_outcome::recrawl:
    case report_outcome::superseded:
      answer.done += 1;
      queue_again(item.key, out.position, at.wall);
      break;
    case report_outcome::retried:
      answer.retried += 1;
      queue_again(item.key, out.position, at.wall);
      break;
    }
  }
  std::vector<active_entry> lately;
  for (auto& out : op.outcomes)
    if (!op.failure && out.happened) lately.push_back(std::move(*out.happened));
  happened(lately);
  if (phase_ == phase::deleting) queue_.clear();
  settle_down();
  if (--part.open == 0) part.promise.answer(std::move(answer));
  op_back();
}

} // namespace lycosa::actors
