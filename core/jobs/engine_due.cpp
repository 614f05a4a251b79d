#include "core/jobs/engine.hpp"

#include <algorithm>

/// What becomes of nominal times that are due: one decision each.
namespace lycosa::jobs {

namespace {

/// Times stepped through before a long downtime is halved. A job of every second that slept for
/// ten years must not hold up the others.
constexpr int step_budget = 10'000;

std::string seconds_text(usec d) {
  return std::to_string(d.count() / 1'000'000) + " s";
}

} // namespace

void engine::advance(wall_time now) {
  if (replanned_) replan_some(now);
  if (paused_) return reap(now);
  while (!retries_.empty() && retries_.begin()->first <= now) {
    const auto key = retries_.begin()->second;
    retries_.erase(retries_.begin());
    auto& run = open_.at(key);
    run.record.state = run_state::queued;
    run.record.retry_at.reset();
    run.deferred = true;
    submit(key, now);
  }
  while (!agenda_.empty() && (*agenda_.begin())->second.planned <= now)
    if (auto* s = whole(*agenda_.begin())) decide_due(*s, now);
  reap(now);
}

std::deque<engine::due_time> engine::collect_due(job_slot& s, wall_time now) {
  const auto& j = s.job;
  const auto seed = seed_of(j.id);
  std::deque<due_time> kept, dropped; // of `dropped` only the ends matter
  std::uint64_t drops = 0;
  bool at_least = false;
  const auto drop_first = [&] {
    dropped.push_back(kept.front());
    if (dropped.size() > 2) dropped.erase(dropped.begin() + 1);
    kept.pop_front();
    ++drops;
  };
  auto fire = j.next;
  auto previous = j.previous;
  for (int steps = 0; fire && fire->planned() <= now;) {
    kept.push_back({fire->nominal, fire->planned()});
    previous = fire->nominal;
    if (kept.size() > limits_.catch_up_number) drop_first();
    fire = j.trigger.plan(previous, now, seed);
    if (++steps < step_budget || !fire) continue;
    const auto rest = now - fire->nominal;
    if (rest <= usec{std::chrono::seconds{1}}) continue;
    while (!kept.empty())
      drop_first();
    fire = j.trigger.plan(std::nullopt, fire->nominal + rest / 2, seed);
    at_least = true;
    steps = 0;
  }
  while (!kept.empty() && kept.front().planned < now - limits_.catch_up_age)
    drop_first();
  s.job.previous = previous;
  plan_at(s, fire);
  if (drops > 0)
    drop(s, run_state::dropped_catch_up, event_kind::catch_up_dropped, dropped, drops, at_least,
         now, "overdue past the bounds of what is caught up");
  return kept;
}

void engine::decide_due(job_slot& s, wall_time now) {
  auto times = collect_due(s, now);
  moved(s);
  const auto& j = s.job;
  if (j.misfire_grace) {
    std::deque<due_time> missed;
    while (!times.empty() && now - times.front().planned > *j.misfire_grace) {
      missed.push_back(times.front());
      times.pop_front();
    }
    if (!missed.empty())
      drop(s, run_state::missed, event_kind::job_missed, missed, missed.size(), false, now,
           "late by " + seconds_text(now - missed.back().planned) + ", the grace is "
               + seconds_text(*j.misfire_grace));
  }
  if (times.size() > 1 && j.coalesce != coalesce_policy::all) {
    const bool latest = j.coalesce == coalesce_policy::latest;
    const auto chosen = latest ? times.back() : times.front();
    latest ? times.pop_back() : times.pop_front();
    drop(s, run_state::coalesced, event_kind::job_coalesced, times, times.size(), false, now,
         latest ? "the latest of the overdue times runs for them"
                : "the earliest of the overdue times runs for them");
    times = {chosen};
  }
  // Overdue times that are all to run follow one another: they do not overlap by themselves.
  const bool had_room = has_room(s);
  for (std::size_t i = 0; i < times.size(); ++i)
    admit(s, times[i], run_cause::schedule, i > 0 && had_room, now);
  if (!j.next && !j.trigger.at_start()) {
    emit(event_kind::job_finished, now, j.id);
    if (!j.keep_finished) ended_.push_back(j.id);
  }
}

void engine::drop(job_slot& s, run_state why, event_kind kind, const std::deque<due_time>& times,
                  std::uint64_t count, bool at_least, wall_time now, std::string reason) {
  run_record r;
  r.job_id = s.job.id;
  r.number = ++s.job.runs;
  r.state = why;
  r.nominal = times.front().nominal;
  r.planned = times.front().planned;
  r.count = count;
  r.at_least = at_least;
  r.last = times.back().nominal;
  r.ended = now;
  r.late = now - times.back().planned;
  r.reason = std::move(reason);
  moved(s);
  record(r);
  emit(kind, now, r);
}

bool engine::has_room(const job_slot& s) {
  const bool free = s.job.overlap == overlap_policy::allow && s.job.max_instances == 1;
  return free || s.active < s.job.max_instances;
}

void engine::admit(job_slot& s, due_time t, run_cause cause, bool backlog, wall_time now) {
  if (has_room(s)) {
    const auto key = open(s, t, cause, run_state::queued, now);
    ++s.active;
    emit(event_kind::job_submitted, now, open_.at(key).record);
    return submit(key, now);
  }
  const auto skip = [&](std::string reason) {
    drop(s, run_state::skipped_overlap, event_kind::job_max_instances, {t}, 1, false, now,
         std::move(reason));
  };
  const auto others = std::to_string(s.active) + " of at most "
                      + std::to_string(s.job.max_instances) + " runs were under way";
  const auto policy = backlog ? overlap_policy::buffer_all : s.job.overlap;
  switch (policy) {
  case overlap_policy::skip:
  case overlap_policy::allow:
    return skip(others);
  case overlap_policy::buffer_one:
    if (!s.buffer.empty()) return skip(others + " and one was waiting");
    break;
  case overlap_policy::buffer_all:
    if (s.buffer.size() >= limits_.buffer)
      return skip(others + " and " + std::to_string(s.buffer.size()) + " were waiting");
    break;
  case overlap_policy::cancel_other: {
    const auto others_open = s.open;
    // First the waiting one, or it would start as soon as a slot is free.
    for (const auto key : std::vector(s.buffer.begin(), s.buffer.end()))
      end(key, run_state::skipped_overlap, "a later run took its place", now);
    const auto key = open(s, t, cause, run_state::buffered, now);
    s.buffer.push_back(key);
    ++buffered_;
    emit(event_kind::job_buffered, now, open_.at(key).record);
    for (const auto other : others_open)
      cancel(other, now);
    return;
  }
  }
  const auto key = open(s, t, cause, run_state::buffered, now);
  s.buffer.push_back(key);
  ++buffered_;
  emit(event_kind::job_buffered, now, open_.at(key).record);
}

result<run_record> engine::run_now(std::string_view id, wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  const auto number = s->job.runs + 1;
  admit(*s, {now, now}, run_cause::manual, false, now);
  const auto made = out_.runs.find({s->job.id, number});
  if (made == out_.runs.end()) return fail(errc::internal, std::string(id), "no run was made");
  return made->second;
}

result<std::uint64_t> engine::backfill(std::string_view id, wall_time from, wall_time to,
                                       wall_time now) {
  auto* s = slot(id);
  if (!s) return unknown(id);
  if (to < from) return fail(errc::invalid_argument, "to", "lies before the beginning");
  std::vector<wall_time> times;
  auto t = s->job.trigger.first_from(from);
  for (; t && *t <= to; t = s->job.trigger.next(*t, *t)) {
    if (s->buffer.size() + times.size() >= limits_.buffer)
      return fail(errc::too_large, "to",
                  "more than " + std::to_string(limits_.buffer) + " runs; ask for a shorter range");
    times.push_back(*t);
  }
  for (const auto nominal : times)
    admit(*s, {nominal, nominal}, run_cause::backfill, true, now);
  return times.size();
}

} // namespace lycosa::jobs
