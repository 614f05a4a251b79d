#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lycosa::actors {

/// A thread that does what it is given, in order, and something else at regular times. For work that
/// blocks on the disk.
class work_thread {
public:
  using job = std::function<void()>;

  /// `tick` is called every `period`, late by at most one job; zero = never.
  explicit work_thread(std::chrono::microseconds period = {}, job tick = {})
      : period_(period), tick_(std::move(tick)), thread_([this] { run(); }) {}
  ~work_thread() { stop(); }
  work_thread(const work_thread&) = delete;
  work_thread& operator=(const work_thread&) = delete;

  void post(job j) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      jobs_.push_back(std::move(j));
    }
    woken_.notify_one();
  }

  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }

  /// Ends the thread after the job at hand; what waits is dropped. Not from the thread itself.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// From a job: waits so long, or until the thread is to stop, which it answers with false.
  bool pause(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    return !woken_.wait_for(lock, time, [this] { return stopping_; });
  }

private:
  void run() {
    auto next = std::chrono::steady_clock::now() + period_;
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto ready = [this] { return stopping_ || !jobs_.empty(); };
      if (tick_)
        woken_.wait_until(lock, next, ready);
      else
        woken_.wait(lock, ready);
      if (stopping_) return;
      job todo;
      if (!jobs_.empty()) {
        todo = std::move(jobs_.front());
        jobs_.pop_front();
      }
      lock.unlock();
      if (todo) todo();
      if (const auto now = std::chrono::steady_clock::now(); tick_ && now >= next) {
        tick_();
        next = now + period_;
      }
      todo = {}; // what it holds goes without the lock
      lock.lock();
    }
  }

  std::chrono::microseconds period_;
  job tick_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<job> jobs_;
  bool stopping_ = false;
  std::thread thread_; // last: it uses all the others
};

} // namespace lycosa::actors
