#pragma once

#include "actors/event_hub.hpp"
#include "actors/jobs.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace lycosa::actors {

struct node_meters;

/// Hands events to listeners and to the node's hub. A listener has a thread and a bounded buffer
/// of its own: publishing never waits for it.
class job_events : public std::enable_shared_from_this<job_events> {
public:
  /// Either may be none; `hub` outlives this.
  explicit job_events(event_hub* hub = nullptr, std::shared_ptr<node_meters> meters = nullptr)
      : hub_(hub), meters_(std::move(meters)) {}

  std::unique_ptr<event_subscription>
  subscribe(jobs::event_mask mask, std::size_t buffer,
            std::function<void(const jobs::job_event&)> on_event);
  void publish(std::vector<jobs::job_event> events);
  /// Kinds that anybody listens to; the hub takes all.
  [[nodiscard]] jobs::event_mask wanted() const;

private:
  struct listener;
  class subscription;

  void measure(const std::vector<jobs::job_event>& events);

  event_hub* hub_;
  std::shared_ptr<node_meters> meters_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<listener>> listeners_;
};

} // namespace lycosa::actors
