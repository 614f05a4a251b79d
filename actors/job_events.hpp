#pragma once

#include "actors/jobs.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace lycosa::actors {

/// Hands events to listeners. A listener has a thread and a bounded buffer of its own: publishing
/// never waits for it, and costs nothing when nobody listens.
class job_events : public std::enable_shared_from_this<job_events> {
public:
  std::unique_ptr<event_subscription>
  subscribe(jobs::event_mask mask, std::size_t buffer,
            std::function<void(const jobs::job_event&)> on_event);
  void publish(const std::vector<jobs::job_event>& events);
  /// Kinds that anybody listens to.
  [[nodiscard]] jobs::event_mask wanted() const;

private:
  struct listener;
  class subscription;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<listener>> listeners_;
};

} // namespace lycosa::actors
