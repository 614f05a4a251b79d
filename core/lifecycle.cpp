#include "core/lifecycle.hpp"

#include "core/placement.hpp"
#include "core/saturating.hpp"

#include <algorithm>
#include <limits>

namespace lycosa {
namespace {

/// What is due now is due *now*: kept with a task, so that after a restart of the node tasks of
/// one priority come in the order in which they were to run.
wall_time due_of(wall_time exetime, wall_time now) {
  return std::max(exetime, now);
}

bool gives(const std::optional<std::string_view>& itag) {
  return itag && !itag->empty();
}

/// The moment up to which a crawl that ended at `crawled` is fresh; none = for ever.
std::optional<wall_time> fresh_until(wall_time crawled, usec age) {
  if (age < usec::zero()) return std::nullopt;
  return saturating_add(crawled, age);
}

/// Commands are carried out, not kept; failures of before do not count.
schedule to_store(schedule s) {
  s.retried = 0;
  s.force_update = false;
  s.cancel = false;
  return s;
}

task restarted(const task& stored, const task& in) {
  task t = stored;
  t.project = in.project;
  t.status = task_status::active;
  t.sched = to_store(in.sched);
  if (!in.url.empty()) t.url = in.url;
  if (!in.fetch.empty()) t.fetch = in.fetch;
  if (!in.process.empty()) t.process = in.process;
  ++t.generation;
  return t;
}

task created(const task& in) {
  task t = in;
  t.status = task_status::active;
  t.sched = to_store(in.sched);
  t.lastcrawltime = {};
  t.generation = 0;
  return t;
}

} // namespace

usec retry_policy::delay(int retried) const {
  const auto it = table.find(retried);
  return std::max(it == table.end() ? otherwise : it->second, usec::zero());
}

// -- a task comes in -----------------------------------------------------------------------------

accept_verdict judge_submit(const std::optional<task_slot>& old, const task& in, wall_time now) {
  using enum accept_outcome;
  const auto& s = in.sched;
  if (!old) {
    if (s.cancel) return {ignored, "unknown task"};
    return {created, {}};
  }
  if (old->status == task_status::active) {
    if (s.cancel) return {cancelled, {}};
    if (s.force_update) return {restarted, {}};
    return {ignored, "already queued"};
  }
  if (s.cancel) {
    if (s.force_update) return {cancelled, {}};
    return {ignored, "not queued"};
  }
  if (s.force_update) return {restarted, {}};
  if (gives(s.itag) && hash_itag(*s.itag) != old->itag_hash) return {restarted, {}};
  const auto until = fresh_until(old->lastcrawltime, s.age);
  if (until && *until < now) return {restarted, {}};
  if (gives(s.itag) && !until) return {ignored, "same itag"};
  return {ignored, "fresh"};
}

accept_decision apply_submit(accept_outcome outcome, const task* stored, const task& in,
                             std::uint64_t arrival, wall_time now) {
  accept_decision d;
  switch (outcome) {
  case accept_outcome::created:
    d.record = created(in);
    d.delta.pending = 1;
    break;
  case accept_outcome::restarted:
    d.record = restarted(*stored, in);
    d.delta.pending = stored->status == task_status::active ? 0 : 1;
    break;
  case accept_outcome::cancelled:
    d.record = *stored;
    d.record.project = in.project;
    d.record.status = task_status::bad;
    ++d.record.generation; // a crawl under way must not bring it back
    break;
  case accept_outcome::ignored:
    if (stored != nullptr) d.record = *stored;
    return d; // nothing to do: the caller need not have asked
  }
  d.record.updatetime = now;
  d.position = {due_of(d.record.sched.exetime, now), d.record.sched.priority, arrival};
  return d;
}

// -- a crawl is reported -------------------------------------------------------------------------

namespace {

/// Queues the task again, `delay` from now.
void again(report_decision& d, usec delay, std::uint64_t arrival, wall_time now) {
  auto& s = d.record.sched;
  s.exetime = saturating_add(now, delay);
  d.record.status = task_status::active;
  d.position = {s.exetime, s.priority, arrival};
}

/// Whether and how soon a crawl repeats.
struct repetition {
  bool for_ever = false;
  std::optional<usec> age; ///< none = what is crawled stays fresh
};

repetition repetition_of(const schedule& stored, const report& r) {
  const auto age = r.age.value_or(stored.age);
  repetition out;
  if (age >= usec::zero()) out.age = age;
  out.for_ever = r.auto_recrawl.value_or(stored.auto_recrawl) && out.age.has_value();
  return out;
}

void succeed(report_decision& d, const repetition& repeat, std::uint64_t arrival, wall_time now) {
  d.delta.success = 1;
  if (repeat.for_ever) {
    d.outcome = report_outcome::recrawl;
    d.record.sched.retried = 0; // the next crawl may fail as often as this one might have
    again(d, *repeat.age, arrival, now);
    return;
  }
  d.outcome = report_outcome::done;
  d.record.status = task_status::success;
}

void miss(report_decision& d, const repetition& repeat, const retry_policy& retry,
          std::uint64_t arrival, wall_time now) {
  auto& s = d.record.sched;
  if (!repeat.for_ever && s.retried >= s.retries) {
    d.outcome = report_outcome::failed;
    d.record.status = task_status::failed;
    d.delta.failed = 1;
    return;
  }
  // What will be stale by then need not wait longer.
  const auto delay = std::min(retry.delay(s.retried), repeat.age.value_or(usec::max()));
  d.outcome = report_outcome::retried;
  d.delta.retry = 1;
  if (s.retried < std::numeric_limits<std::int32_t>::max()) ++s.retried;
  again(d, delay, arrival, now);
}

} // namespace

accept_verdict judge_import(const task* stored, const task& in) {
  if (stored == nullptr) return {accept_outcome::created, {}};
  if (in.updatetime > stored->updatetime) return {accept_outcome::restarted, {}};
  return {accept_outcome::ignored, "not newer"};
}

accept_decision apply_import(const task* stored, const task& in, std::uint64_t arrival,
                             wall_time now) {
  accept_decision d;
  d.record = in;
  d.record.sched.force_update = false;
  d.record.sched.cancel = false;
  if (in.updatetime == wall_time{}) d.record.updatetime = now;
  // A crawl of the record that is replaced may be under way: its report comes too late.
  d.record.generation = stored == nullptr ? 0 : stored->generation + 1;
  d.position = {std::max(in.sched.exetime, now), in.sched.priority, arrival};
  return d;
}

bool already_reported(const task& stored, const report& r) {
  return stored.lastcrawltime != wall_time{} && !r.track.empty() && stored.track == r.track;
}

report_decision decide_report(const task& stored, const queue_position& stood, const report& r,
                              std::uint32_t generation, const retry_policy& retry,
                              std::uint64_t arrival, wall_time now) {
  report_decision d;
  d.record = stored;
  d.record.updatetime = now;
  if (!r.track.empty()) d.record.track = r.track;
  if (generation < stored.generation) {
    d.outcome = report_outcome::superseded;
    d.position = stood;
    return d;
  }
  d.record.lastcrawltime = now;
  if (r.ok())
    succeed(d, repetition_of(stored.sched, r), arrival, now);
  else
    miss(d, repetition_of(stored.sched, r), retry, arrival, now);
  return d;
}

} // namespace lycosa
