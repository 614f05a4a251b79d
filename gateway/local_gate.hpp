#pragma once

#include "gateway/front.hpp"
#include "gateway/router.hpp"
#include "gateway/xmlrpc.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace lycosa::gateway {

/// The way to a node that will be taken away: lets requests in until it is closed, and knows what
/// they leave behind with clients that still refers to the node.
class local_gate : public std::enable_shared_from_this<local_gate> {
public:
  local_gate(actors::node& node, const front_config& config);

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

private:
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
