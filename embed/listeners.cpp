#include "embed/scheduler_impl.hpp"
#include <spdlog/spdlog.h>

#include <algorithm>

namespace lycosa {

void subscription::state::receive(const jobs::job_event& e) {
  const auto kind = jobs::mask_of(e.kind);
  if (kind & (kinds | events::gap)) {
    const std::lock_guard in_call(calling);
    {
      const std::lock_guard lock(mutex);
      if (ended) return;
    }
    const embed::inside_scope here(token.get());
    const embed::inside_scope mine(this);
    try {
      callback(embed::to_event(e));
    } catch (const std::exception& failure) {
      spdlog::error("a listener threw: {}", failure.what());
    } catch (...) {
      spdlog::error("a listener threw");
    }
  }
  if (kind != events::scheduler_shutdown) return;
  const std::lock_guard lock(mutex);
  saw_shutdown = true;
  changed.notify_all();
}

void subscription::state::end() {
  std::unique_lock lock(mutex);
  ended = true;
  changed.notify_all();
  auto gone = std::move(inner);
  lock.unlock();
  if (embed::inside_scope::of(this)) return; // `gone` does not wait then, either
  const std::lock_guard no_call(calling);
}

subscription::subscription() = default;
subscription::subscription(std::shared_ptr<state> s) : state_(std::move(s)) {}
subscription::subscription(subscription&&) noexcept = default;

subscription& subscription::operator=(subscription&& other) noexcept {
  if (this == &other) return *this;
  end();
  state_ = std::move(other.state_);
  return *this;
}

subscription::~subscription() {
  end();
}

void subscription::end() {
  if (const auto s = std::exchange(state_, nullptr)) s->end();
}

std::shared_ptr<subscription::state>
scheduler::impl::listen(events::mask kinds, std::function<void(const event&)> callback,
                        std::size_t buffer) {
  auto s = std::make_shared<subscription::state>();
  s->kinds = kinds;
  s->callback = std::move(callback);
  s->token = token_;
  {
    const std::lock_guard lock(listening_);
    std::erase_if(listeners_, [](const auto& weak) { return weak.expired(); });
    listeners_.push_back(s);
  }
  // The end is told to all: who waits for the end waits for them.
  auto inner = events_->subscribe(kinds | events::scheduler_shutdown, buffer,
                                  [s](const jobs::job_event& e) { s->receive(e); });
  const std::lock_guard lock(s->mutex);
  s->inner = std::move(inner);
  return s;
}

} // namespace lycosa
