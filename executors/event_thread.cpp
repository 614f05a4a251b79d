#include "executors/event_thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace lycosa::executors {

mono_time mono_now() {
  return mono_time(
      std::chrono::duration_cast<usec>(std::chrono::steady_clock::now().time_since_epoch()));
}

mono_time later(mono_time from, usec delay) {
  constexpr usec century = std::chrono::days{36525};
  return from + std::clamp(delay, usec{0}, century);
}

void finish(const jobs::executor::done_handler& done, jobs::run_result&& result) {
  try {
    done(std::move(result));
  } catch (const std::exception& e) {
    spdlog::error("the handler of a finished run threw: {}", e.what());
  } catch (...) {
    spdlog::error("the handler of a finished run threw");
  }
}

event_thread::event_thread(std::unique_ptr<event_loop> loop, const char* name)
    : loop_(std::move(loop)) {
  // Signals are for the threads that wait for them; a write to a closed socket is an error code.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop_->run(inbox_); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), name);
  id_ = thread_.get_id();
}

event_thread::~event_thread() {
  stop(usec{0});
}

void event_thread::post(op&& o) {
  if (inbox_.post(std::move(o))) {
    loop_->wake();
    return;
  }
  auto& refused = std::get<start_op>(o);
  jobs::run_result r;
  r.outcome = jobs::run_outcome::cancelled;
  r.error = "the executor has stopped";
  finish(refused.done, std::move(r));
}

void event_thread::start(jobs::run_request request, done_handler done) {
  post(start_op{std::move(request), std::move(done)});
}

void event_thread::cancel(jobs::run_key key) {
  post(cancel_op{key});
}

void event_thread::stop(usec grace) {
  post(stop_op{later(mono_now(), grace)});
  if (std::this_thread::get_id() == id_) return;
  const std::lock_guard hold(joining_);
  if (thread_.joinable()) thread_.join();
}

} // namespace lycosa::executors
