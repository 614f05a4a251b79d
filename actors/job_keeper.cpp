#include "actors/job_keeper.hpp"

#include "actors/log.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

/// Longest wait: a clock that was set is noticed after that at the latest, whatever `time_watch` is
/// allowed to see.
constexpr usec longest_wait = std::chrono::minutes{1};
/// A clock that is being brought right gains or loses at most one part in 2000. A longer wait is
/// ended early by twice that and followed by a short one, which misses its moment by nothing to
/// speak of.
constexpr usec short_wait = std::chrono::seconds{10};
constexpr int early_by = 1000;
constexpr usec clock_step = std::chrono::seconds{1};
constexpr usec retry_commit = std::chrono::seconds{1};
constexpr usec zones_interval = std::chrono::minutes{10};

} // namespace

job_keeper::job_keeper(jobs_actor::pointer self, job_keeper_config config)
    : self_(self), config_(std::move(config)), store_(*config_.store, config_.settings.history),
      engine_(config_.settings.limits, store_) {
  const auto t = config_.time->now();
  clock_offset_ = t.wall.time_since_epoch() - t.mono.time_since_epoch();
  next_zones_ = t.mono;
  const auto loaded = load();
  if (!loaded) {
    log_of("jobs")->error("no jobs are run: {}", loaded.error().text());
    engine_.close();
  }
  const auto tell = std::exchange(config_.settings.ready, nullptr);
  if (!tell) return;
  if (!loaded) {
    tell(loaded);
    return;
  }
  after_commit([tell](const std::optional<error>& failure) {
    tell(failure ? result<void>(tl::unexpected<error>(*failure)) : result<void>());
  });
}

result<void> job_keeper::load() {
  engine_.listen(config_.events->wanted());
  auto stored = store_.open();
  if (!stored) return tl::unexpected(stored.error());
  for (auto& [id, place] : stored->jobs)
    engine_.restore(std::move(id), place);
  engine_.warm_up();
  const auto t = now();
  for (auto& r : stored->open_runs)
    engine_.restore(std::move(r), t);
  unreadable_ = std::move(stored->unreadable);
  for (const auto& id : unreadable_)
    log_of("jobs")->error("job {} cannot be read; it is left as it is and does not run", id);
  engine_.opened(t);
  if (auto ok = add_first(t); !ok) return ok;
  if (config_.settings.start_paused)
    engine_.pause_all(t);
  else
    begin();
  engine_.clock_changed(t); // the last process may have had a wrong clock
  ask_flush();
  return {};
}

result<void> job_keeper::add_first(wall_time t) {
  auto first = std::exchange(config_.settings.first, {});
  for (const auto& f : first) {
    if (auto ok = check_free(f.job.id); !ok) return ok;
    if (!f.replace && engine_.find(f.job.id))
      return fail(errc::conflict, "id", "job " + f.job.id + " exists");
  }
  for (auto& f : first)
    if (auto added = engine_.add(std::move(f.job), f.replace, t); !added)
      return tl::unexpected(added.error());
  return {};
}

void job_keeper::begin() {
  if (!std::exchange(begun_, true)) engine_.started(now());
}

result<void> job_keeper::check_free(const std::string& id) const {
  if (std::find(unreadable_.begin(), unreadable_.end(), id) == unreadable_.end()) return {};
  return fail(errc::corrupt, id, "a job with this id is stored but cannot be read");
}

tl::unexpected<error> job_keeper::missing(const std::string& id) const {
  if (auto ok = check_free(id); !ok) return tl::unexpected<error>(ok.error());
  return fail(errc::not_found, id, "no such job");
}

result<std::vector<jobs::run_record>> job_keeper::runs(const std::string& id, std::uint64_t before,
                                                       std::size_t limit) {
  auto ended = store_.runs(id, before, limit, now());
  if (!ended) return ended;
  std::map<std::uint64_t, jobs::run_record, std::greater<>> all;
  for (auto& r : *ended)
    all[r.number] = std::move(r);
  const auto& decided = engine_.pending().runs; // ended, and about to be stored
  for (auto i = decided.lower_bound({id, 0}); i != decided.end() && i->first.first == id; ++i)
    all[i->second.number] = i->second;
  for (auto& r : engine_.open_runs(id))
    all[r.number] = std::move(r);
  std::vector<jobs::run_record> out;
  for (auto& [number, r] : all) {
    if (out.size() == limit) break;
    if (before == 0 || number < before) out.push_back(std::move(r));
  }
  return out;
}

void job_keeper::call(job_call& c) {
  if (ended_) return;
  engine_.listen(config_.events->wanted());
  std::exchange(c.run, nullptr)(*this);
  ask_flush();
}

void job_keeper::wake() {
  if (ended_) return;
  // A later wake may be under way still, when something came up that was due before it. It has
  // been superseded: arming for it again would leave one more of them for ever.
  if (armed_ && *armed_ <= config_.time->now().mono) armed_.reset();
  engine_.listen(config_.events->wanted());
  check_clock();
  engine_.advance(now());
  sweep();
  ask_flush();
}

void job_keeper::time_changed(time_change what) {
  if (what == time_change::zones) next_zones_ = config_.time->now().mono;
  check_clock();
  engine_.advance(now());
}

void job_keeper::check_clock() {
  const auto t = config_.time->now();
  const usec offset = t.wall.time_since_epoch() - t.mono.time_since_epoch();
  const auto step = offset - clock_offset_;
  clock_offset_ = offset;
  if (step > clock_step || step < -clock_step) {
    log_of("jobs")->warn("the clock was set by {} s; jobs are planned again",
                         step.count() / 1'000'000);
    engine_.clock_changed(t.wall);
  }
  if (t.mono < next_zones_) return;
  next_zones_ = t.mono + zones_interval;
  if (config_.reload_zones()) {
    log_of("jobs")->info("time zones have changed; jobs are planned again");
    engine_.zones_changed(t.wall);
  }
}

/// A piece of the history at a time, so that a long one holds nobody up.
void job_keeper::sweep() {
  sweeping_ = store_.sweep(now()).value_or(false);
}

void job_keeper::ask_flush() {
  if (!std::exchange(flushing_, true)) self_->send(self_, flush_atom_v);
}

bool job_keeper::store_pending() {
  const auto& e = engine_.pending();
  if (!e.stores() && !sweeping_) return true;
  storage::job_batch batch;
  batch.erased.assign(e.erased.begin(), e.erased.end());
  batch.jobs.reserve(e.jobs.size());
  for (const auto& id : e.jobs)
    if (const auto* j = engine_.find(id)) batch.jobs.push_back(j);
  batch.places.reserve(e.places.size());
  for (const auto& id : e.places)
    if (!e.jobs.contains(id))
      if (const auto* j = engine_.find(id)) batch.places.push_back(j);
  batch.runs.reserve(e.runs.size());
  for (const auto& [key, r] : e.runs)
    batch.runs.push_back(&r);
  const auto done = store_.commit(batch);
  if (done) {
    failing_ = false;
    return true;
  }
  if (!std::exchange(failing_, true))
    log_of("jobs")->error("jobs cannot be stored, nothing is started until they can: {}",
                          done.error().text());
  const error why{done.error().code, "jobs",
                  "not stored yet, it will be tried again: " + done.error().text()};
  for (auto& then : std::exchange(waiting_, {}))
    then(why);
  self_->delayed_send(self_, retry_commit, flush_atom_v);
  flushing_ = true;
  return false;
}

void job_keeper::flush() {
  flushing_ = false;
  if (ended_) return;
  if (!store_pending()) {
    // What runs is waited for. What was to start and cannot be stored never does: it is not
    // there after a restart, and what did run without its end being stored is found as lost.
    if (draining_ && running_.empty()) finish();
    return;
  }
  auto e = engine_.take();
  engine_.rest(now());
  for (const auto& [id, why] : e.unreadable) {
    log_of("jobs")->error("job {} cannot be read; it is left as it is and does not run: {}", id,
                          why.text());
    unreadable_.push_back(id);
  }
  count(e);
  config_.events->publish(std::move(e.events));
  start(std::move(e.starts));
  for (const auto key : e.cancels)
    if (const auto i = running_.find(key); i != running_.end()) i->second->cancel(key);
  for (auto& then : std::exchange(waiting_, {}))
    then(std::nullopt);
  if (draining_ && engine_.running() == 0) return finish();
  arm();
}

void job_keeper::count(const jobs::effects& e) {
  for (const auto& [key, r] : e.runs) {
    switch (r.state) {
    case jobs::run_state::success:
      counted_.succeeded += 1;
      break;
    case jobs::run_state::error:
    case jobs::run_state::timeout:
    case jobs::run_state::lost:
      counted_.failed += 1;
      break;
    case jobs::run_state::missed:
      counted_.missed += r.count;
      break;
    case jobs::run_state::coalesced:
    case jobs::run_state::skipped_overlap:
      counted_.skipped += r.count;
      break;
    case jobs::run_state::dropped_catch_up:
    case jobs::run_state::dropped_queue:
      counted_.dropped += r.count;
      break;
    default:
      break;
    }
  }
}

const std::shared_ptr<jobs::executor>& job_keeper::executor_of(const jobs::action& a) const {
  const auto& x = config_.settings.executors;
  if (std::holds_alternative<jobs::command_action>(a)) return x.command;
  if (std::holds_alternative<jobs::http_action>(a)) return x.http;
  if (std::holds_alternative<jobs::task_action>(a)) return x.task;
  if (std::holds_alternative<jobs::actor_action>(a)) return x.actor;
  return x.function;
}

void job_keeper::start(std::vector<jobs::run_request> requests) {
  std::map<std::shared_ptr<jobs::executor>, std::vector<jobs::run_start>> together;
  for (auto& request : requests) {
    const auto key = request.key;
    const auto by = executor_of(request.action);
    auto done = [self = caf::actor_cast<jobs_actor>(self_), key](jobs::run_result r) {
      auto c = std::make_shared<job_call>();
      c->run = [key, r = std::move(r)](job_keeper& k) mutable {
        k.running_.erase(key);
        k.engine_.finished(key, std::move(r), k.now());
      };
      caf::anon_send(self, std::move(c));
    };
    if (!by) {
      jobs::run_result none;
      none.outcome = jobs::run_outcome::error;
      none.error = "this node carries out no actions of this kind";
      done(std::move(none));
      continue;
    }
    running_[key] = by;
    together[by].push_back({std::move(request), std::move(done)});
  }
  for (auto& [by, runs] : together)
    by->start_all(std::move(runs));
}

void job_keeper::arm() {
  const auto t = config_.time->now();
  usec wait = longest_wait;
  if (sweeping_) wait = std::chrono::milliseconds{20};
  if (const auto at = engine_.next_wake()) wait = std::clamp(usec{*at - t.wall}, usec{0}, wait);
  if (wait > short_wait) wait -= wait / early_by;
  const auto at = t.mono + wait;
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  self_->delayed_send(self_, wait, wake_atom_v);
}

void job_keeper::drain(std::optional<usec> wait) {
  if (ended_) return;
  if (wait) self_->delayed_send(self_, std::max(*wait, usec{0}), drain_atom_v);
  if (std::exchange(draining_, true)) return;
  engine_.close();
  flushing_ = false; // the next attempt may be a second away
  ask_flush();
}

void job_keeper::end_runs() {
  if (ended_) return;
  // Blocks until every run has answered; the answers are in the mailbox then.
  const auto& x = config_.settings.executors;
  for (const auto& e : {x.command, x.http, x.task, x.actor, x.function})
    if (e) e->stop(config_.settings.kill_grace);
}

void job_keeper::finish() {
  ended_ = true;
  config_.events->publish({{jobs::event_kind::scheduler_shutdown, now(), {}, {}, 1}});
  self_->quit();
}

job_statistics job_keeper::statistics() const {
  auto s = counted_;
  s.jobs = engine_.counts().jobs;
  s.paused = engine_.counts().paused;
  s.finished = engine_.counts().finished;
  s.running = engine_.running();
  s.queued = engine_.queued();
  s.buffered = engine_.buffered();
  s.scheduler_paused = engine_.paused();
  s.next_at = engine_.next_wake();
  s.unreadable = unreadable_;
  return s;
}

jobs_actor::behavior_type job_scheduler(jobs_actor::pointer self, job_keeper_config config) {
  auto state = std::make_shared<job_keeper>(self, std::move(config));
  return {
      [state](job_call_ptr& c) { state->call(*c); },
      [state](wake_atom) { state->wake(); },
      [state](flush_atom) { state->flush(); },
      [state](drain_atom) { state->end_runs(); },
  };
}

} // namespace lycosa::actors
