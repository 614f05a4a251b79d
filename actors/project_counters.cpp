#include "actors/log.hpp"
#include "actors/project_events.hpp"
#include "actors/project_state.hpp"

/// What a project counts, and the pause of one whose crawls all fail. Both are told of what was
/// committed, never of what was merely asked for.
#include <array>
#include <ctime>

namespace lycosa::actors {

void project_state::counted(const counter_delta& delta, wall_time at) {
  if (delta.pending <= 0 && delta.success <= 0 && delta.retry <= 0 && delta.failed <= 0) return;
  tally_up(*env_.meter, env_.meters->counts, delta);
  env_.counters->record(delta, at);
  counters_changed();
}

void project_state::counted(const lycosa::report& r, report_outcome what, instant at) {
  if (r.fetch_time || r.process_time) {
    env_.counters->record_times(r.fetch_time, r.process_time, at.wall);
    counters_changed();
  }
  if (what == report_outcome::superseded) return;
  const bool was = pause_.paused();
  pause_.record(what == report_outcome::done || what == report_outcome::recrawl, at.mono);
  if (was || !pause_.paused()) return;
  log_of("scheduler")
      ->warn("project {}: paused, its last crawls all failed; tried again in {} s", facts_->name,
             std::chrono::duration_cast<std::chrono::seconds>(env_.pause.pause_time).count());
  tell(env_.events, project_event_kind::paused, *facts_, at.wall,
       std::to_string(pause_.failures()) + " crawls failed in a row");
}

void project_state::look_at_pause(instant at) {
  const bool was = pause_.paused();
  if (!pause_.advance(at.mono) || !was) return;
  log_of("scheduler")->info("project {}: tried again after its pause", facts_->name);
  tell(env_.events, project_event_kind::resumed, *facts_, at.wall, "its pause is over");
}

std::string project_state::pause_text(wall_time until) const {
  const auto seconds = static_cast<std::time_t>(
      std::chrono::ceil<std::chrono::seconds>(until.time_since_epoch()).count());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return "paused: " + std::to_string(pause_.failures()) + " crawls failed in a row, until "
         + std::string{text.data(), n};
}

void project_state::resume() {
  if (pause_.now() == pause_rule::state::running) return;
  if (pause_.paused())
    tell(env_.events, project_event_kind::resumed, *facts_, now().wall, "by request");
  pause_.resume();
  hungry_ = false;
  settle_down();
}

status_counts project_state::states() const {
  status_counts sum;
  for (const auto& known : counts_) {
    const auto c = known.value_or(status_counts{});
    sum.active += c.active;
    sum.success += c.success;
    sum.failed += c.failed;
    sum.bad += c.bad;
  }
  return sum;
}

void project_state::count(counter_query& query) {
  const auto at = now().wall;
  counter_view view;
  view.project = facts_->name;
  switch (query.set) {
  case counter_set::five_minutes_time:
    view.times = env_.counters->times(query.kind, at);
    break;
  case counter_set::five_minutes:
    view.events = env_.counters->read(counter_window::five_minutes, query.kind, at);
    break;
  case counter_set::hour:
    view.events = env_.counters->read(counter_window::hour, query.kind, at);
    break;
  case counter_set::day:
    view.events = env_.counters->read(counter_window::day, query.kind, at);
    break;
  case counter_set::all:
    view.events = totals(states());
    break;
  }
  query.done.answer(std::move(view));
}

// The keeper asks for them when it has written what it had, so that however many projects count,
// the disk is busy with it only now and then. A kill costs the windows what they counted since.

void project_state::counters_changed() {
  if (counters_dirty_) return;
  counters_dirty_ = true;
  self_->send(env_.catalog, save_atom_v, project_actor{self_});
}

void project_state::save_counters() {
  counters_dirty_ = false;
  if (phase_ == phase::deleting) return;
  auto op = std::make_shared<counters_op>();
  op->project = facts_->id;
  op->bytes = env_.counters->save();
  self_->send(env_.catalog, std::move(op));
}

} // namespace lycosa::actors
