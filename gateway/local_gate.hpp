#pragma once

#include "gateway/front.hpp"
#include "gateway/router.hpp"
#include "gateway/xmlrpc.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace lycosa::gateway {

/// The way to a node that will be taken away: lets requests in until it is closed, and knows what
/// they leave behind with clients that still refers to the node.
class local_gate : public std::enable_shared_from_this<local_gate> {
public:
  /// Until when the node may answer, in microseconds of the monotonic clock.
  struct validity {
    std::atomic<std::int64_t> until{std::numeric_limits<std::int64_t>::max()};
    [[nodiscard]] bool holds() const;
  };

  local_gate(actors::node& node, const front_config& config,
             std::shared_ptr<const validity> valid, std::weak_ptr<shared_state> server);

  /// False: it is closed, nothing has happened.
  bool run(front::interface kind, request& r, const exchange_ptr& x);

  /// Lets nobody in any more; returns when no handler is on its way into the node.
  void close();
  /// After the node was stopped: whatever refers to it forgets it. Returns when nobody uses it.
  void clear();

  /// Something outside that refers to the node.
  class guest {
  public:
    virtual ~guest() = default;
    virtual void leave() = 0;
  };
  void add(const std::shared_ptr<guest>& one);
  /// Makes an answer outlive the node.
  void guard(response& r);
  /// Whether what the node says is still so, as far as the lease of its leadership tells.
  [[nodiscard]] bool valid() const { return valid_->holds(); }

private:
  std::shared_ptr<const validity> valid_;
  service service_;
  xmlrpc_service xmlrpc_;
  std::mutex mutex_;
  std::condition_variable left_;
  bool open_ = true;
  bool cleared_ = false;
  std::size_t entering_ = 0;
  std::vector<std::weak_ptr<guest>> guests_;
  std::size_t prune_at_ = 64;
};

} // namespace lycosa::gateway
