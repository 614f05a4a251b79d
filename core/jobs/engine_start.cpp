#include "core/jobs/engine.hpp"

#include <algorithm>
#include <set>

/// What a start does with what an earlier one has left.
namespace lycosa::jobs {

void engine::restore(std::string id, const job_place& place) {
  const auto [i, made] = jobs_.try_emplace(std::move(id));
  if (!made) return;
  auto& r = i->second;
  r.planned = place.next ? place.next->planned() : wall_time::max();
  r.previous = place.previous.value_or(wall_time::min());
  r.created = place.created;
  r.order = ++last_order_;
  r.paused = place.paused;
  r.at_start = place.at_start;
  r.run_on_start = place.run_on_start;
  r.finished = !place.next && !place.at_start;
  count(r, 1);
  if (place.next && !place.paused) agenda_.insert(i);
}

void engine::restore(run_record r, wall_time now) {
  auto* s = slot(r.job_id);
  if (!s || is_final(r.state)) return;
  s->job.runs = std::max(s->job.runs, r.number);
  if (r.state == run_state::running) {
    r.state = run_state::lost;
    r.ended = now;
    r.reason = "the scheduler ended while it ran";
    record(r);
    emit(event_kind::job_lost, now, r);
    if (s->job.rerun_lost) admit(*s, {r.nominal, r.planned}, run_cause::lost, true, now);
    return;
  }
  const run_key key{++last_key_};
  const auto state = r.state;
  const auto retry_at = r.retry_at.value_or(now);
  open_[key] = {std::move(r), s, pool_of(s->job), false, false};
  s->open.push_back(key);
  if (state == run_state::buffered) {
    s->buffer.push_back(key);
    ++buffered_;
    return;
  }
  ++s->active;
  if (state == run_state::retrying) retries_.emplace(retry_at, key);
}

void engine::opened(wall_time now) {
  for (const auto& [name, p] : pools_)
    emit_alias(event_kind::executor_added, now, name);
  emit_alias(event_kind::jobstore_added, now, "default");
}

void engine::started(wall_time now) {
  emit(event_kind::scheduler_started, now, std::string());
  std::set<run_key> there; // what an earlier `restore` has put into queues
  for (const auto& [name, p] : pools_)
    there.insert(p.queue.begin(), p.queue.end());
  std::vector<run_key> waiting;
  for (const auto& [key, run] : open_)
    if (run.record.state == run_state::queued && run.owner && !there.contains(key))
      waiting.push_back(key);
  for (const auto key : waiting)
    submit(key, now);
  std::set<job_slot*> owners;
  for (const auto& [key, run] : open_)
    if (run.owner) owners.insert(run.owner);
  for (auto* s : owners)
    release(*s, now);
  for (auto i = jobs_.begin(); i != jobs_.end();) {
    const auto here = i++; // one that cannot be read goes
    const auto& r = here->second;
    if (r.paused || (!r.run_on_start && !r.at_start)) continue;
    if (auto* s = whole(here)) admit(*s, {now, now}, run_cause::start, false, now);
  }
  reap(now);
}

} // namespace lycosa::jobs
