#include "core/jobs/engine.hpp"

#include "core/jobs/job_json.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>

namespace lycosa::jobs {

namespace {

/// A clock set back by more had been wrong before; by less, times are not run a second time.
constexpr usec clock_mistake = std::chrono::hours{3};

} // namespace

engine::engine(engine_limits limits) : limits_(std::move(limits)) {
  limits_.history_count = std::max(limits_.history_count, 1u);
  limits_.catch_up_number = std::max(limits_.catch_up_number, 1u);
  limits_.executors.try_emplace("default");
  for (const auto& [name, l] : limits_.executors) {
    auto& p = pools_[name];
    p.limits = l;
    p.limits.concurrency = std::max(l.concurrency, 1u);
  }
}

tl::unexpected<error> engine::unknown(std::string_view id) const {
  return fail(errc::not_found, std::string(id), "no such job");
}

job_slot* engine::slot(std::string_view id) {
  const auto i = jobs_.find(id);
  return i == jobs_.end() ? nullptr : i->second.get();
}

const job* engine::find(std::string_view id) const {
  const auto i = jobs_.find(id);
  return i == jobs_.end() ? nullptr : &i->second->job;
}

engine::pool* engine::find_pool(std::string_view name) {
  const auto i = pools_.find(name);
  return i == pools_.end() ? nullptr : &i->second;
}

void engine::changed(const job_slot& s) {
  out_.jobs.insert(s.job.id);
}

void engine::unplan(job_slot& s) {
  if (s.job.next) agenda_.erase({s.job.next->planned(), s.order});
}

void engine::plan_at(job_slot& s, std::optional<trigger::fire> next) {
  unplan(s);
  s.job.next = next;
  if (next && !s.job.paused) agenda_[{next->planned(), s.order}] = &s;
}

std::optional<trigger::fire> engine::first_fire(const job& j, wall_time now) {
  return j.trigger.plan(std::nullopt, now, seed_of(j.id));
}

// -- start ---------------------------------------------------------------------------------------

void engine::restore(job j) {
  auto s = std::make_unique<job_slot>();
  s->job = std::move(j);
  s->order = ++last_order_;
  const auto next = s->job.next;
  plan_at(*s, next);
  jobs_[s->job.id] = std::move(s);
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
  open_[key] = {std::move(r), s, find_pool(s->job.executor), false, false};
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
  std::vector<run_key> waiting;
  for (const auto& [key, run] : open_)
    if (run.record.state == run_state::queued && run.owner) waiting.push_back(key);
  for (auto& [name, p] : pools_) // what an earlier `restore` has put there
    for (const auto key : p.queue)
      std::erase(waiting, key);
  for (const auto key : waiting)
    submit(key, now);
  for (auto& [id, s] : jobs_) {
    release(*s, now);
    if (!s->job.paused && (s->job.run_on_start || s->job.trigger.at_start()))
      admit(*s, {now, now}, run_cause::start, false, now);
  }
  reap(now);
}

// -- changes -------------------------------------------------------------------------------------

result<job> engine::add(job j, bool replace, wall_time now) {
  auto* old = slot(j.id);
  if (old && !replace) return fail(errc::conflict, "id", "job " + j.id + " exists");
  if (!find_pool(j.executor))
    return fail(errc::invalid_argument, "executor", "no executor is named " + j.executor);
  j.previous.reset();
  j.runs = 0;
  const auto event = event_kind::job_added;
  if (!old) {
    j.next = first_fire(j, now);
    auto s = std::make_unique<job_slot>();
    s->order = ++last_order_;
    s->job = std::move(j);
    const auto next = s->job.next;
    auto& placed = *s;
    jobs_[s->job.id] = std::move(s);
    plan_at(placed, next);
    changed(placed);
    emit(event, now, placed.job.id);
    return placed.job;
  }
  // The same trigger counted from the same moment is no new schedule: what is overdue stays so.
  job as_old = j;
  as_old.created = old->job.created;
  if (auto ok = compile_trigger(as_old); ok && as_old.trigger == old->job.trigger) {
    j = std::move(as_old);
    j.next = old->job.next;
    j.previous = old->job.previous;
    if (old->job.paused && !j.paused) {
      j.paused = true;
      j.pause_reason = old->job.pause_reason;
    }
  } else {
    j.next = first_fire(j, now);
  }
  j.runs = old->job.runs;
  unplan(*old);
  old->job = std::move(j);
  const auto next = old->job.next;
  plan_at(*old, next);
  changed(*old);
  emit(event, now, old->job.id);
  return old->job;
}

result<job> engine::modify(std::string_view id, const job_patch& patch, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  auto patched = apply_patch(s->job, patch);
  if (!patched) return patched;
  if (!find_pool(patched->executor))
    return fail(errc::invalid_argument, "executor", "no executor is named " + patched->executor);
  if (!(patched->trigger == s->job.trigger)) {
    patched->previous.reset();
    patched->next = first_fire(*patched, now);
  }
  unplan(*s);
  s->job = std::move(*patched);
  const auto next = s->job.next;
  plan_at(*s, next);
  changed(*s);
  emit(event_kind::job_modified, now, s->job.id);
  return s->job;
}

result<job> engine::reschedule(std::string_view id, std::string trigger_json, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  job j = s->job;
  j.trigger_json = std::move(trigger_json);
  j.created = now;
  if (auto ok = compile_trigger(j); !ok) return tl::unexpected(ok.error());
  unplan(*s);
  j.paused = false;
  j.pause_reason.clear();
  j.previous.reset();
  s->job = std::move(j);
  s->job.next.reset();
  plan_at(*s, first_fire(s->job, now));
  changed(*s);
  emit(event_kind::job_modified, now, s->job.id);
  return s->job;
}

result<job> engine::pause(std::string_view id, std::string reason, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  unplan(*s);
  s->job.paused = true;
  s->job.pause_reason = std::move(reason);
  changed(*s);
  emit(event_kind::job_paused, now, s->job.id);
  emit(event_kind::job_modified, now, s->job.id);
  return s->job;
}

result<job> engine::resume(std::string_view id, bool catch_up, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  if (!s->job.paused) return s->job;
  auto next = s->job.next;
  if (!catch_up && next && next->planned() <= now) {
    next = first_fire(s->job, now);
    if (next && next->planned() < now) // a date that has passed
      next = s->job.trigger.plan(next->nominal, now, seed_of(s->job.id));
  }
  s->job.paused = false;
  s->job.pause_reason.clear();
  plan_at(*s, next);
  changed(*s);
  emit(event_kind::job_resumed, now, s->job.id);
  emit(event_kind::job_modified, now, s->job.id);
  if (!next) {
    emit(event_kind::job_finished, now, s->job.id);
    if (!s->job.keep_finished) ended_.push_back(s->job.id);
  }
  const auto answer = s->job;
  advance(now);
  return answer;
}

result<void> engine::remove(std::string_view id, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  const std::string name = s->job.id;
  unplan(*s);
  buffered_ -= s->buffer.size();
  for (const auto key : s->open) {
    auto& run = open_.at(key);
    run.owner = nullptr;
    if (run.record.state == run_state::running) {
      out_.cancels.push_back(key); // its slot is free when it has ended
      continue;
    }
    if (run.where) std::erase(run.where->queue, key);
    std::erase_if(retries_, [&](const auto& r) { return r.second == key; });
    open_.erase(key);
  }
  out_.jobs.erase(name);
  std::erase_if(out_.runs, [&](const auto& r) { return r.first.first == name; });
  std::erase_if(out_.forgotten, [&](const auto& r) { return r.first == name; });
  out_.erased.insert(name);
  jobs_.erase(name);
  emit(event_kind::job_removed, now, name);
  return {};
}

std::uint64_t engine::remove_all(wall_time now) {
  const auto n = jobs_.size();
  while (!jobs_.empty())
    (void)remove(jobs_.begin()->second->job.id, now);
  emit(event_kind::all_jobs_removed, now, std::string(), n);
  return n;
}

void engine::pause_all(wall_time now) {
  if (!std::exchange(paused_, true)) emit(event_kind::scheduler_paused, now, std::string());
}

void engine::resume_all(wall_time now) {
  if (!std::exchange(paused_, false)) return;
  emit(event_kind::scheduler_resumed, now, std::string());
  advance(now);
}

// -- time ----------------------------------------------------------------------------------------

void engine::clock_changed(wall_time now) {
  for (auto& [id, s] : jobs_) {
    const bool ran_ahead = s->job.previous && *s->job.previous > now + clock_mistake;
    const bool made_ahead = s->job.created > now + clock_mistake;
    if (!ran_ahead && !made_ahead) continue;
    if (made_ahead) {
      unplan(*s);
      s->job.next.reset();
      s->job.created = now;
      (void)compile_trigger(s->job); // it compiled before
    }
    s->job.previous.reset();
    plan_at(*s, first_fire(s->job, now));
    changed(*s);
  }
  advance(now);
}

void engine::zones_changed(wall_time now) {
  advance(now);
  for (auto& [id, s] : jobs_) {
    if (!s->job.next) continue;
    const auto next = s->job.trigger.plan(s->job.previous, now, seed_of(s->job.id));
    if (next == s->job.next) continue;
    plan_at(*s, next);
    changed(*s);
  }
}

std::optional<wall_time> engine::next_wake() const {
  if (paused_) return std::nullopt;
  std::optional<wall_time> at;
  if (!agenda_.empty()) at = agenda_.begin()->first.first;
  if (!retries_.empty() && (!at || retries_.begin()->first < *at)) at = retries_.begin()->first;
  return at;
}

// -- reads ---------------------------------------------------------------------------------------

std::vector<run_record> engine::open_runs(std::string_view id) const {
  std::vector<run_record> out;
  if (const auto i = jobs_.find(id); i != jobs_.end())
    for (const auto key : i->second->open)
      out.push_back(open_.at(key).record);
  return out;
}

std::vector<run_key> engine::running_keys() const {
  std::vector<run_key> out;
  for (const auto& [key, run] : open_)
    if (run.record.state == run_state::running) out.push_back(key);
  return out;
}

std::size_t engine::queued() const {
  std::size_t n = 0;
  for (const auto& [name, p] : pools_)
    n += p.queue.size();
  return n;
}

std::string engine::why(std::string_view id, wall_time now) const {
  const auto i = jobs_.find(id);
  if (i == jobs_.end()) return "there is no such job";
  const auto& s = *i->second;
  const auto& j = s.job;
  const auto text = [&](wall_time t) { return trigger::to_iso(t, j.trigger.timezone()); };
  std::string more;
  for (const auto key : s.open) {
    const auto& r = open_.at(key).record;
    more += "; the run of " + text(r.nominal) + " is " + std::string(to_string(r.state));
    if (r.state == run_state::queued) more += ": every slot of executor " + j.executor + " is busy";
  }
  if (paused_) return "the scheduler is paused" + more;
  if (j.paused)
    return "the job is paused" + (j.pause_reason.empty() ? "" : ": " + j.pause_reason) + more;
  if (j.trigger.at_start()) return "it runs when the scheduler starts" + more;
  if (!j.next) return "its trigger has no further times" + more;
  if (j.next->planned() > now) return "its next time is " + text(j.next->planned()) + more;
  return "it is due" + more;
}

} // namespace lycosa::jobs
