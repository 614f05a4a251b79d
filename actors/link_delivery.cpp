#include "actors/link_delivery.hpp"

#include "actors/ask_actor.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"

#include <exception>

namespace lycosa::actors {

namespace {

/// Handled bytes that are worth a frame of their own; less is told with the next heartbeat.
constexpr std::uint64_t worth_telling = std::uint64_t{1} << 20;

void call(const link_handlers& to, cluster::node_id from, const link_queue::item& one) {
  try {
    if (!one.body) {
      if (to.change) to.change(from, one.up);
      return;
    }
    const auto found = to.channels.find(one.channel);
    if (found != to.channels.end()) found->second(from, one.body);
  } catch (const std::exception& e) {
    log_of("cluster")->error("a message of node {} on channel {}: {}",
                             static_cast<std::uint64_t>(from), one.channel, e.what());
  }
}

} // namespace

bool link_queue::put(item one) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(one));
  return items_.size() == 1;
}

std::deque<link_queue::item> link_queue::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(items_, {});
}

caf::behavior link_delivery(caf::event_based_actor* self, std::shared_ptr<link_queue> queue,
                            std::shared_ptr<const link_handlers> to,
                            std::function<void(std::shared_ptr<link_count>)> handled) {
  ignore_strangers(self);
  return {
      [queue, to, handled](wake_atom) {
        for (auto& one : queue->take()) {
          call(*to, queue->from, one);
          if (!one.body || !one.count) continue;
          const auto size = one.body->size();
          one.body = nullptr;
          const auto all = one.count->handled.fetch_add(size) + size;
          auto told = one.count->acknowledged.load();
          if (all - told < worth_telling) continue;
          if (one.count->acknowledged.compare_exchange_strong(told, all)) handled(one.count);
        }
      },
      [self](drain_atom) { self->quit(); },
  };
}

} // namespace lycosa::actors
