#pragma once

#include "bridges/bridge.hpp"
#include "bridges/stream.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lycosa::bridges {

/// The consumer behind an out-queue: takes tasks from the node when there is room, gives back
/// those that could not be pushed. Messages of the scheduler carry no lease and cannot be given
/// back: they are kept for the next push.
class outlet {
public:
  outlet(actors::node& node, std::string consumer, const stop_signal& stop);

  /// Up to `room` tasks as MessagePack; waits for the first one until stopped or a while has
  /// passed (then empty).
  const std::deque<std::string>& take(std::size_t room);

  /// Ends a wait of `take`, now and from now on. From any thread, with the stop signal raised.
  void cancel();

  /// The first `n` of what `take` gave are in the queue.
  void pushed(std::size_t n);

  /// What was taken and not pushed: tasks go back to the node at once.
  void give_back();

private:
  actors::node& node_;
  std::string consumer_;
  const stop_signal& stop_;
  std::mutex mutex_;
  std::unique_ptr<actors::lease_wait> waiting_; ///< while `take` waits
  std::deque<std::string> bodies_;
  std::deque<std::string> leases_; ///< side by side with `bodies_`; empty = a message
};

} // namespace lycosa::bridges
