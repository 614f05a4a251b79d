#include "bridges/event_pump.hpp"

#include <utility>

namespace lycosa::bridges {

namespace {

constexpr std::size_t batch_bytes = std::size_t{1} << 20U;

} // namespace

event_pump::event_pump(std::unique_ptr<actors::event_reader> from, std::size_t batch,
                       handler handle)
    : from_(std::move(from)), batch_(batch), handle_(std::move(handle)),
      thread_([this] { run(); }) {}

void event_pump::run() {
  auto& c = *control_;
  for (;;) {
    const bool last = c.stopping(); // asked first: what came before the stop is still taken
    auto batch = from_->take(batch_, batch_bytes);
    if (!batch.events.empty() && !c.overdue()) {
      if (!handle_(batch.events, c)) return;
      continue;
    }
    if (batch.ended || last || c.overdue()) return;
    from_->wait([shared = control_] {
      const std::lock_guard lock(shared->mutex_);
      shared->news_ = true;
      shared->changed_.notify_all();
    });
    std::unique_lock lock(c.mutex_);
    c.changed_.wait(lock, [&] { return c.news_ || c.stopping_; });
    c.news_ = false;
  }
}

void event_pump::begin_stop() {
  {
    const std::lock_guard lock(control_->mutex_);
    if (!std::exchange(control_->stopping_, true))
      control_->since_ = std::chrono::steady_clock::now();
  }
  control_->changed_.notify_all();
}

void event_pump::stop() {
  begin_stop();
  if (thread_.joinable()) thread_.join();
}

} // namespace lycosa::bridges
