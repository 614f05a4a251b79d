#pragma once

#include "actors/event_hub.hpp"

#include "bridges/event_listeners.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace lycosa::bridges {

/// Brings a reader's events to a function, batch by batch, on a thread of its own.
class event_pump final : public event_listener {
public:
  /// What the function may wait on and ask while it works.
  class control : public std::enable_shared_from_this<control> {
  public:
    /// False: it is time to end. Returns early then.
    bool sleep(usec time) {
      std::unique_lock lock(mutex_);
      return !changed_.wait_for(lock, time, [this] { return stopping_; });
    }
    /// Returns when `condition` holds after a `poke`, or it is time to end.
    void wait_for(const std::function<bool()>& condition) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || condition(); });
    }
    void poke() {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
    [[nodiscard]] bool stopping() {
      const std::lock_guard lock(mutex_);
      return stopping_;
    }
    /// It was time to end a while ago.
    [[nodiscard]] bool overdue() {
      const std::lock_guard lock(mutex_);
      return stopping_ && std::chrono::steady_clock::now() - since_ > std::chrono::seconds{1};
    }

  private:
    friend class event_pump;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool news_ = false;
    bool stopping_ = false;
    std::chrono::steady_clock::time_point since_;
  };
  /// Returns false when it gave up because of the end.
  using handler = std::function<bool(const std::vector<actors::hub_event_ptr>&, control&)>;

  event_pump(std::unique_ptr<actors::event_reader> from, std::size_t batch, handler handle);
  ~event_pump() override { stop(); }
  event_pump(const event_pump&) = delete;
  event_pump& operator=(const event_pump&) = delete;
  void begin_stop() override;
  void stop() override;

private:
  void run();

  std::unique_ptr<actors::event_reader> from_;
  std::size_t batch_;
  handler handle_;
  std::shared_ptr<control> control_ = std::make_shared<control>();
  std::thread thread_;
};

} // namespace lycosa::bridges
