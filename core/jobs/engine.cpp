#include "core/jobs/engine.hpp"

#include "core/jobs/job_json.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>
#include <limits>

namespace lycosa::jobs {

namespace {

/// A clock set back by more had been wrong before; by less, times are not run a second time.
constexpr usec clock_mistake = std::chrono::hours{3};

/// Jobs looked at in one go after zones have changed.
constexpr int replan_slice = 1000;

} // namespace

engine::engine(engine_limits limits, job_source& source)
    : limits_(std::move(limits)), source_(source) {
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

engine::pool* engine::find_pool(std::string_view name) {
  const auto i = pools_.find(name);
  return i == pools_.end() ? nullptr : &i->second;
}

std::string_view engine::pool_name(const job& j) const {
  const bool task = std::holds_alternative<task_action>(j.action) && j.executor == "default";
  return task && pools_.contains(task_pool) ? task_pool : std::string_view(j.executor);
}

engine::pool* engine::pool_of(const job& j) {
  return find_pool(pool_name(j));
}

// -- places in time ------------------------------------------------------------------------------

void engine::count(const job_rest& r, std::uint64_t by) {
  counts_.jobs += by;
  if (r.paused) counts_.paused += by;
  if (r.finished) counts_.finished += by;
}

/// Carries over what is held of the job at rest.
void engine::refresh(job_slot& s) {
  auto& r = s.at->second;
  count(r, std::uint64_t(-1));
  const auto& j = s.job;
  r.planned = j.next ? j.next->planned() : wall_time::max();
  r.previous = j.previous.value_or(wall_time::min());
  r.created = j.created;
  r.paused = j.paused;
  r.at_start = j.trigger.at_start();
  r.run_on_start = j.run_on_start;
  r.finished = j.finished();
  count(r, 1);
}

void engine::changed(const job_slot& s) {
  out_.jobs.insert(s.job.id);
}

void engine::moved(const job_slot& s) {
  out_.places.insert(s.job.id);
}

void engine::unplan(job_index::iterator i) {
  const auto& r = i->second;
  if (r.planned != wall_time::max() && !r.paused) agenda_.erase(i);
}

void engine::plan_at(job_slot& s, std::optional<trigger::fire> next) {
  unplan(s.at);
  s.job.next = next;
  refresh(s);
  if (next && !s.job.paused) agenda_.insert(s.at);
}

std::optional<trigger::fire> engine::first_fire(const job& j, wall_time now) {
  return j.trigger.plan(std::nullopt, now, seed_of(j.id));
}

// -- changes -------------------------------------------------------------------------------------

result<job> engine::add(job j, bool replace, wall_time now) {
  const auto id = j.id;
  if (auto ok = put(std::move(j), replace, now); !ok) return tl::unexpected(ok.error());
  return slot(id)->job;
}

result<void> engine::put(job j, bool replace, wall_time now) {
  auto* old = slot(j.id);
  if (old && !replace) return fail(errc::conflict, "id", "job " + j.id + " exists");
  if (!find_pool(j.executor))
    return fail(errc::invalid_argument, "executor", "no executor is named " + j.executor);
  j.previous.reset();
  j.runs = 0;
  const auto event = event_kind::job_added;
  if (!old) {
    j.next = first_fire(j, now);
    const auto i = jobs_.try_emplace(j.id).first;
    i->second.order = ++last_order_;
    counts_.jobs += 1;
    const auto next = j.next;
    auto& placed = hold(i, std::move(j));
    plan_at(placed, next);
    changed(placed);
    emit(event, now, placed.job.id);
    return {};
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
  old->job = std::move(j);
  const auto next = old->job.next;
  plan_at(*old, next);
  changed(*old);
  emit(event, now, old->job.id);
  return {};
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
  s->job = std::move(*patched);
  const auto next = s->job.next;
  plan_at(*s, next);
  changed(*s);
  emit(event_kind::job_modified, now, s->job.id);
  return s->job;
}

result<job> engine::reschedule(std::string_view id, std::string_view trigger_json, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  auto tidy = one_line(trigger_json, "trigger");
  if (!tidy) return tl::unexpected(tidy.error());
  job j = s->job;
  j.trigger_json = std::move(*tidy);
  j.created = now;
  if (auto ok = compile_trigger(j); !ok) return tl::unexpected(ok.error());
  j.paused = false;
  j.pause_reason.clear();
  j.previous.reset();
  s->job = std::move(j);
  plan_at(*s, first_fire(s->job, now));
  changed(*s);
  emit(event_kind::job_modified, now, s->job.id);
  return s->job;
}

result<job> engine::pause(std::string_view id, std::string reason, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  s->job.paused = true;
  s->job.pause_reason = std::move(reason);
  const auto next = s->job.next;
  plan_at(*s, next);
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
  const auto i = jobs_.find(id);
  if (i == jobs_.end()) return unknown(id);
  const std::string name = i->first;
  if (i->second.live) abandon(*i->second.live);
  unplan(i);
  count(i->second, std::uint64_t(-1));
  out_.jobs.erase(name);
  out_.places.erase(name);
  out_.runs.erase(out_.runs.lower_bound({name, 0}),
                  out_.runs.upper_bound({name, std::numeric_limits<std::uint64_t>::max()}));
  out_.erased.insert(name);
  jobs_.erase(i);
  emit(event_kind::job_removed, now, name);
  return {};
}

/// Its job goes: what runs is cancelled, what waits is forgotten.
void engine::abandon(job_slot& s) {
  buffered_ -= s.buffer.size();
  for (const auto key : s.open) {
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
  used_.erase(s.recency);
}

std::uint64_t engine::remove_all(wall_time now) {
  const auto n = jobs_.size();
  while (!jobs_.empty())
    (void)remove(std::string(jobs_.begin()->first), now);
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
  for (auto i = jobs_.begin(); i != jobs_.end();) {
    const auto here = i++; // one that cannot be read goes
    const bool ran_ahead = here->second.previous > now + clock_mistake;
    const bool made_ahead = here->second.created > now + clock_mistake;
    if (!ran_ahead && !made_ahead) continue;
    auto* s = whole(here);
    if (!s) continue;
    if (made_ahead) {
      s->job.created = now;
      (void)compile_trigger(s->job); // it compiled before
    }
    s->job.previous.reset();
    plan_at(*s, first_fire(s->job, now));
    moved(*s);
  }
  advance(now);
}

void engine::zones_changed(wall_time now) {
  advance(now);
  replanned_ = std::string();
  replan_some(now);
}

/// A piece at a time, so that a million jobs do not hold up those that are due.
void engine::replan_some(wall_time now) {
  auto i = jobs_.upper_bound(*replanned_);
  for (int n = 0; n < replan_slice && i != jobs_.end(); ++n) {
    const auto here = i++;
    replanned_ = here->first;
    if (here->second.planned == wall_time::max()) continue;
    auto* s = whole(here);
    if (!s) continue;
    if (s->job.timezone.empty()) (void)compile_trigger(s->job); // the machine's zone may be another
    const auto next = s->job.trigger.plan(s->job.previous, now, seed_of(s->job.id));
    if (next == s->job.next) continue;
    plan_at(*s, next);
    moved(*s);
  }
  if (i == jobs_.end()) replanned_.reset();
}

std::optional<wall_time> engine::next_wake() const {
  if (replanned_) return wall_time{}; // at once
  if (paused_) return std::nullopt;
  std::optional<wall_time> at;
  if (!agenda_.empty()) at = (*agenda_.begin())->second.planned;
  if (!retries_.empty() && (!at || retries_.begin()->first < *at)) at = retries_.begin()->first;
  return at;
}

// -- reads ---------------------------------------------------------------------------------------

std::vector<run_record> engine::open_runs(std::string_view id) const {
  std::vector<run_record> out;
  if (const auto i = jobs_.find(id); i != jobs_.end() && i->second.live)
    for (const auto key : i->second.live->open)
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

std::string engine::why(std::string_view id, wall_time now) {
  const auto* found = slot(id);
  if (!found) return "there is no such job";
  const auto& s = *found;
  const auto& j = s.job;
  const auto text = [&](wall_time t) { return trigger::to_iso(t, j.trigger.timezone()); };
  std::string more;
  for (const auto key : s.open) {
    const auto& r = open_.at(key).record;
    more += "; the run of " + text(r.nominal) + " is " + std::string(to_string(r.state));
    if (r.state == run_state::queued)
      more += ": every slot of executor " + std::string(pool_name(j)) + " is busy";
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
