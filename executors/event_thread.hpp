#pragma once

#include "executors/inbox.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace lycosa::executors {

/// The monotonic clock, now.
[[nodiscard]] mono_time mono_now();

/// `from` + `delay`, kept within a century so that no sum overflows.
[[nodiscard]] mono_time later(mono_time from, usec delay);

/// Calls a handler; what it throws is logged, for the thread has others to serve.
void finish(const jobs::executor::done_handler& done, jobs::run_result&& result);

/// The work of one event thread. Only `wake` is called from other threads.
class event_loop {
public:
  virtual ~event_loop() = default;

  /// Serves `in` until a stop_op was taken and nothing runs any more.
  virtual void run(inbox& in) = 0;

  /// Makes `run` look into the inbox; may come before `run` does.
  virtual void wake() = 0;
};

/// An executor whose work is an event loop on a thread of its own, which has all signals blocked.
/// Destroying it stops it without grace; it must not be destroyed from inside a `done`.
class event_thread final : public jobs::executor {
public:
  event_thread(std::unique_ptr<event_loop> loop, const char* name);
  ~event_thread() override;

  void start(jobs::run_request request, done_handler done) override;
  void cancel(jobs::run_key key) override;
  void stop(usec grace) override;

private:
  void post(op&& o);

  inbox inbox_;
  std::unique_ptr<event_loop> loop_;
  std::mutex joining_;
  std::thread thread_;
  std::thread::id id_; // outlives the join, for stop() from inside a done
};

} // namespace lycosa::executors
