#include "core/jobs/engine.hpp"

#include <algorithm>

/// A run from its record to its end.
namespace lycosa::jobs {

namespace {

event_kind event_of(run_state s) {
  switch (s) {
  case run_state::success:
    return event_kind::job_executed;
  case run_state::error:
  case run_state::timeout:
    return event_kind::job_error;
  case run_state::cancelled:
    return event_kind::job_cancelled;
  case run_state::lost:
    return event_kind::job_lost;
  case run_state::missed:
    return event_kind::job_missed;
  case run_state::coalesced:
    return event_kind::job_coalesced;
  case run_state::skipped_overlap:
    return event_kind::job_max_instances;
  case run_state::dropped_catch_up:
    return event_kind::catch_up_dropped;
  case run_state::dropped_queue:
    return event_kind::queue_dropped;
  case run_state::retrying:
    return event_kind::job_retrying;
  case run_state::buffered:
    return event_kind::job_buffered;
  case run_state::running:
    return event_kind::job_started;
  case run_state::queued:
    break;
  }
  return event_kind::job_submitted;
}

run_state state_of(run_outcome o) {
  switch (o) {
  case run_outcome::success:
    return run_state::success;
  case run_outcome::timeout:
    return run_state::timeout;
  case run_outcome::cancelled:
    return run_state::cancelled;
  case run_outcome::error:
    break;
  }
  return run_state::error;
}

} // namespace

void engine::record(const run_record& r) {
  out_.runs[{r.job_id, r.number}] = r;
}

void engine::emit(event_kind kind, wall_time now, const run_record& r) {
  if (wanted_ & mask_of(kind)) out_.events.push_back({kind, now, r.job_id, r, 1});
}

void engine::emit(event_kind kind, wall_time now, std::string job_id, std::uint64_t count) {
  if (wanted_ & mask_of(kind)) out_.events.push_back({kind, now, std::move(job_id), {}, count});
}

void engine::emit_alias(event_kind kind, wall_time now, std::string alias) {
  if (wanted_ & mask_of(kind)) out_.events.push_back({kind, now, {}, {}, 1, std::move(alias)});
}

run_key engine::open(job_slot& s, due_time t, run_cause cause, run_state state, wall_time) {
  const run_key key{++last_key_};
  open_run run;
  run.record.job_id = s.job.id;
  run.record.number = ++s.job.runs;
  run.record.cause = cause;
  run.record.state = state;
  run.record.nominal = run.record.last = t.nominal;
  run.record.planned = t.planned;
  run.owner = &s;
  run.where = pool_of(s.job);
  s.open.push_back(key);
  moved(s);
  record(open_.emplace(key, std::move(run)).first->second.record);
  return key;
}

void engine::submit(run_key key, wall_time now) {
  auto& run = open_.at(key);
  run.where = pool_of(run.owner->job);
  const std::string name(pool_name(run.owner->job));
  if (!run.where) return end(key, run_state::dropped_queue, "no executor is named " + name, now);
  auto& p = *run.where;
  if (!closed_ && p.running < p.limits.concurrency) return start(key, now);
  if (!closed_ && p.queue.size() >= p.limits.queue_limit)
    return end(key, run_state::dropped_queue,
               std::to_string(p.queue.size()) + " runs were waiting for executor " + name, now);
  p.queue.push_back(key);
  record(run.record);
}

void engine::start(run_key key, wall_time now) {
  auto& run = open_.at(key);
  auto& r = run.record;
  const auto& j = run.owner->job;
  const auto late = now - r.planned;
  if (r.cause == run_cause::schedule && !run.deferred && j.misfire_grace && late > *j.misfire_grace)
    return end(key, run_state::missed,
               "waited for a slot of executor " + std::string(pool_name(j))
                   + " until its grace had passed",
               now);
  r.state = run_state::running;
  r.started = now;
  if (r.attempt == 0) r.late = late;
  r.result = {};
  ++run.where->running;
  ++running_;
  record(r);
  emit(event_kind::job_started, now, r);
  out_.starts.push_back({key, j.id, j.action, r.nominal, r.attempt, j.timeout});
}

void engine::fill(pool& p, wall_time now) {
  while (!closed_ && !p.queue.empty() && p.running < p.limits.concurrency) {
    const auto key = p.queue.front();
    p.queue.pop_front();
    start(key, now);
  }
}

void engine::finished(run_key key, run_result result, wall_time now) {
  const auto found = open_.find(key);
  if (found == open_.end() || found->second.record.state != run_state::running) return;
  auto& run = found->second;
  auto& p = *run.where;
  --p.running;
  --running_;
  if (!run.owner) {
    open_.erase(found);
    return fill(p, now);
  }
  auto& r = run.record;
  const auto& j = run.owner->job;
  const auto state = state_of(result.outcome);
  const bool failed = state == run_state::error || state == run_state::timeout;
  r.result = std::move(result);
  if (failed && !run.cancel_asked && r.attempt < j.retries) {
    r.state = run_state::retrying;
    ++r.attempt;
    r.retry_at = now + retry_wait(j, r.attempt);
    retries_.emplace(*r.retry_at, key);
    record(r);
    emit(event_kind::job_retrying, now, r);
    fill(p, now);
    return reap(now);
  }
  // Not yet counted as ended: whoever waits for the slot goes before the job's own next run.
  fill(p, now);
  end(key, state, {}, now);
  reap(now);
}

void engine::cancel(run_key key, wall_time now) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  auto& run = found->second;
  switch (run.record.state) {
  case run_state::running:
    if (!std::exchange(run.cancel_asked, true)) out_.cancels.push_back(key);
    return;
  case run_state::queued:
    if (run.where) std::erase(run.where->queue, key);
    break;
  case run_state::retrying:
    std::erase_if(retries_, [&](const auto& r) { return r.second == key; });
    break;
  default:
    break;
  }
  end(key, run_state::cancelled, "cancelled before it started", now);
}

void engine::end(run_key key, run_state state, std::string reason, wall_time now) {
  auto node = open_.extract(key);
  auto& run = node.mapped();
  auto& s = *run.owner;
  auto& r = run.record;
  if (r.state == run_state::buffered) {
    std::erase(s.buffer, key);
    --buffered_;
  } else {
    --s.active;
  }
  std::erase(s.open, key);
  if (s.open.empty()) touch(s); // it may rest again
  r.state = state;
  r.ended = now;
  r.retry_at.reset();
  if (!r.started) r.late = now - r.planned;
  r.reason = std::move(reason);
  record(r);
  emit(event_of(state), now, r);
  release(s, now);
}

void engine::release(job_slot& s, wall_time now) {
  while (!s.buffer.empty() && has_room(s)) {
    const auto key = s.buffer.front();
    s.buffer.pop_front();
    --buffered_;
    ++s.active;
    auto& run = open_.at(key);
    run.deferred = true;
    run.record.state = run_state::queued;
    emit(event_kind::job_submitted, now, run.record);
    submit(key, now);
  }
}

void engine::reap(wall_time now) {
  std::erase_if(ended_, [&](const std::string& id) {
    const auto* s = slot(id);
    if (!s || s->job.next) return true; // gone, or it has a new trigger
    if (!s->open.empty()) return false;
    (void)remove(id, now);
    return true;
  });
}

} // namespace lycosa::jobs
