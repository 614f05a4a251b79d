#include "embed/scheduler_impl.hpp"

#include "executors/command_executor.hpp"
#include "executors/http_executor.hpp"

#include "embed/lazy_executor.hpp"
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <random>

namespace lycosa {

namespace {

/// Functions given with a job have the job's name after this; registered ones cannot begin so.
constexpr std::string_view own_prefix = "@";
constexpr std::size_t sweep_after = 256; ///< function jobs added
constexpr std::chrono::seconds listener_patience{5};

wall_time now() {
  return std::chrono::time_point_cast<usec>(std::chrono::system_clock::now());
}

jobs::engine_limits limits_of(const scheduler_options& o) {
  jobs::engine_limits l;
  l.catch_up_number = o.catch_up;
  l.executors["default"] = {o.concurrency, o.queue_limit};
  for (const auto& [name, concurrency] : o.executors)
    l.executors[name] = {concurrency, o.queue_limit};
  return l;
}

} // namespace

scheduler::impl::impl(scheduler_options options)
    : options_(std::move(options)), limits_(limits_of(options_)), pending_(limits_) {}

actors::job_host_config scheduler::impl::host_config() {
  executors::function_options functions;
  functions.find = [table = functions_](const std::string& name) { return table->find(name); };
  functions.threads = 0;
  for (const auto& [name, l] : limits_.executors)
    functions.threads += l.concurrency;
  actors::job_host_config c;
  c.data = options_.data;
  c.map_size = options_.store_size;
  c.sync = options_.sync;
  c.events = events_;
  c.jobs.limits = limits_;
  c.jobs.history.count = options_.history_count;
  c.jobs.history.age = options_.history_age;
  c.jobs.kill_grace = options_.end_grace;
  c.jobs.first = pending_.take(now());
  c.jobs.start_paused = options_.start_paused || pending_.paused();
  c.jobs.executors.function = executors::make_function_executor(std::move(functions));
  const auto grace = options_.end_grace;
  c.jobs.executors.command = std::make_shared<embed::lazy_executor>([grace] {
    executors::command_options o;
    o.kill_grace = grace;
    return executors::make_command_executor(std::move(o));
  });
  c.jobs.executors.http =
      std::make_shared<embed::lazy_executor>([] { return executors::make_http_executor(); });
  return c;
}

void scheduler::impl::start() {
  const std::lock_guard lock(mutex_);
  if (phase_ == phase::running) return;
  if (phase_ != phase::pending)
    throw scheduler_error(failure::unavailable, "",
                          "a scheduler that was shut down does not start again; make another");
  host_ = embed::value_or_throw(actors::job_host::open(host_config()));
  phase_ = phase::running;
}

void scheduler::impl::run() {
  start();
  if (inside()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return phase_ == phase::closed; });
}

void scheduler::impl::shutdown(bool wait, std::optional<duration> deadline) {
  const auto limit = wait ? deadline : std::optional<duration>{duration::zero()};
  std::unique_lock lock(mutex_);
  if (phase_ == phase::pending) {
    phase_ = phase::closed;
    changed_.notify_all();
  } else if (phase_ == phase::running) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    closer_ = std::thread([self = shared_from_this()] { self->close(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    phase_ = phase::closing;
    host_->stop(limit);
  } else if (phase_ == phase::closing && host_) {
    host_->stop(limit);
  }
  if (!wait || inside()) return;
  changed_.wait(lock, [&] { return phase_ == phase::closed; });
}

void scheduler::impl::close() {
  host_->wait(); // nobody else lets go of it
  wait_for_listeners();
  std::unique_lock lock(mutex_);
  auto host = std::move(host_);
  changed_.wait(lock, [&] { return calls_ == 0; });
  lock.unlock();
  host.reset(); // the directory is free before anybody hears of the end
  lock.lock();
  phase_ = phase::closed;
  changed_.notify_all();
}

/// They are to have heard of everything; one that hangs is not waited for.
void scheduler::impl::wait_for_listeners() {
  const std::lock_guard hold(listening_);
  const auto until = std::chrono::steady_clock::now() + listener_patience;
  for (const auto& weak : listeners_) {
    const auto s = weak.lock();
    if (!s) continue;
    std::unique_lock lock(s->mutex);
    s->changed.wait_until(lock, until, [&] { return s->ended || s->saw_shutdown; });
  }
}

void scheduler::impl::leave() {
  shutdown(true, options_.destructor_deadline);
  std::unique_lock lock(mutex_);
  auto closer = std::move(closer_);
  lock.unlock();
  if (!closer.joinable()) return;
  if (inside())
    closer.detach(); // it holds what it needs
  else
    closer.join();
}

bool scheduler::impl::running() {
  const std::lock_guard lock(mutex_);
  return phase_ == phase::running;
}

bool scheduler::impl::pending() {
  const std::lock_guard lock(mutex_);
  return phase_ == phase::pending;
}

// -- jobs ----------------------------------------------------------------------------------------

jobs::job_input scheduler::impl::read(std::string_view job) const {
  return embed::value_or_throw(
      jobs::parse_job(embed::with_defaults(job, options_.job_defaults, options_.timezone), now()));
}

job_info scheduler::impl::add(std::string_view job) {
  auto in = read(job);
  const auto added = call<jobs::job>([&](actors::job_service& s, auto done) {
    s.add(std::move(in.job), in.replace_existing, std::move(done));
  });
  return embed::to_info(added, pending());
}

std::string scheduler::impl::new_id() {
  if (!options_.data.empty())
    throw scheduler_error(failure::invalid, "id",
                          "a job that is kept in a directory needs an id of your choice: without "
                          "one, each start of the program would add it again");
  std::random_device random;
  std::string id = "job-";
  for (int i = 0; i < 12; ++i)
    id += "0123456789abcdef"[random() % 16];
  return id;
}

job_info scheduler::impl::add_function(std::string id, const schedule& when,
                                       const job_options& options, detail::function fn) {
  if (id.empty()) id = new_id();
  const auto name = std::string(own_prefix) + id;
  const nlohmann::ordered_json action = {{"type", "function"}, {"name", name}};
  const auto job = embed::job_json(id, when, action.dump(), options);
  (void)read(job); // what is not valid must not touch the function of a job of this name
  const std::lock_guard lock(adding_);
  const auto known = all();
  const auto has = [&](const std::string& wanted) {
    return std::any_of(known.begin(), known.end(), [&](const auto& j) { return j.id == wanted; });
  };
  if (!options.replace_existing && has(id))
    throw scheduler_error(failure::conflict, "id", "job " + id + " exists");
  if (++added_ % sweep_after == 0) functions_->keep_only(own_prefix, has); // of finished jobs
  const auto before = functions_->find(name);
  register_function(name, std::move(fn)); // first: the job may run at once
  try {
    return add(job);
  } catch (...) {
    if (before)
      functions_->put(name, before);
    else
      functions_->erase(name);
    throw;
  }
}

void scheduler::impl::register_function(const std::string& name, detail::function fn) {
  auto wrapped = [fn = std::move(fn), token = token_](const executors::function_call& c) {
    const embed::inside_scope here(token.get());
    run_context context(c.job_id, c.nominal, c.attempt, c.stop);
    const auto args = nlohmann::ordered_json::parse(c.args, nullptr, false);
    return fn(context, detail::json_view(&args));
  };
  functions_->put(name, std::make_shared<const executors::job_function>(std::move(wrapped)));
}

void scheduler::impl::forget_function_of(std::string_view id) {
  functions_->erase(std::string(own_prefix) + std::string(id));
}

std::vector<jobs::job> scheduler::impl::all() {
  constexpr std::size_t page_size = 1000;
  std::vector<jobs::job> out;
  std::string after;
  do {
    auto page = call<actors::job_page>(
        [&](actors::job_service& s, auto done) { s.list(after, page_size, std::move(done)); });
    std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(out));
    after = std::move(page.next);
  } while (!after.empty());
  return out;
}

} // namespace lycosa
