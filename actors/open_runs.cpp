#include "actors/open_runs.hpp"

#include <caf/all.hpp>

#include <utility>

namespace lycosa::actors {

namespace {

thread_local int dones_of_this_thread = 0;

} // namespace

jobs::run_result failed_run(jobs::run_outcome how, std::string why) {
  jobs::run_result r;
  r.outcome = how;
  r.error = std::move(why);
  return r;
}

bool open_runs::inside_done() {
  return dones_of_this_thread > 0;
}

bool open_runs::add(const actor_run_ptr& run) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  runs_[run->request.key] = run;
  return true;
}

bool open_runs::assign(const actor_run_ptr& run, const caf::actor& worker) {
  const std::lock_guard lock(mutex_);
  if (run->over) return false;
  run->worker = worker;
  return true;
}

void open_runs::end(const actor_run_ptr& run, jobs::run_result result) {
  std::unique_lock lock(mutex_);
  if (std::exchange(run->over, true)) return;
  const auto done = std::exchange(run->done, nullptr);
  const auto worker = std::exchange(run->worker, nullptr);
  lock.unlock();
  if (worker) caf::anon_send_exit(worker, caf::exit_reason::kill);
  ++dones_of_this_thread;
  done(std::move(result));
  --dones_of_this_thread;
  lock.lock();
  runs_.erase(run->request.key);
  ended_.notify_all();
}

void open_runs::cancel(jobs::run_key key) {
  actor_run_ptr run;
  {
    const std::lock_guard lock(mutex_);
    if (const auto i = runs_.find(key); i != runs_.end()) run = i->second;
  }
  if (run) end(run, failed_run(jobs::run_outcome::cancelled, "cancelled before it was answered"));
}

void open_runs::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  const auto runs = runs_;
  lock.unlock();
  for (const auto& [key, run] : runs)
    end(run, failed_run(jobs::run_outcome::cancelled, "cancelled: the scheduler stops"));
  if (inside_done()) return;
  lock.lock();
  ended_.wait(lock, [&] { return runs_.empty(); });
}

void run_inbox::put(actor_run_ptr run) {
  const std::lock_guard lock(mutex_);
  runs_.push_back(std::move(run));
}

std::vector<actor_run_ptr> run_inbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(runs_, {});
}

} // namespace lycosa::actors
