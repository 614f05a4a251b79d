#pragma once

#include "actors/links.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace lycosa::actors {

class link_hub;

/// Bytes of one connection that have been dealt with.
struct link_count {
  std::uint64_t serial = 0; ///< of the connection
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> acknowledged{0}; ///< of those, what the sender was told
};

/// Whom messages are for. Not changed once messages can come.
struct link_handlers {
  std::map<std::uint16_t, links::message_handler> channels;
  links::change_handler change;
};

/// What one peer has sent, until it is handled.
class link_queue {
public:
  struct item {
    std::uint16_t channel = 0;
    bytes_ptr body;                    ///< none = `change` is said
    std::shared_ptr<link_count> count; ///< that the body is added to
    bool up = false;                   ///< the change
  };
  explicit link_queue(cluster::node_id node) : from(node) {}

  /// True when nobody has been told yet that there is something.
  bool put(item one);
  [[nodiscard]] std::deque<item> take();

  const cluster::node_id from;

private:
  std::mutex mutex_;
  std::deque<item> items_;
};

/// Calls the handlers for one peer. `handled`: so much of a connection is done that its sender
/// should be told.
caf::behavior link_delivery(caf::event_based_actor* self, std::shared_ptr<link_queue> queue,
                            std::shared_ptr<const link_handlers> to,
                            std::function<void(std::shared_ptr<link_count>)> handled);

} // namespace lycosa::actors
