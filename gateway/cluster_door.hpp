#pragma once

#include "core/result.hpp"
#include "gateway/http.hpp"

#include <functional>
#include <string>

namespace lycosa::gateway {

/// What clients can see and wish of the cluster that the process is a node of. On any thread.
class cluster_door {
public:
  using done = std::function<void(result<void>)>;
  virtual ~cluster_door() = default;
  /// `GET /v1/cluster`, JSON.
  virtual std::string state() = 0;
  /// The scheduler should run there; empty = wherever it is best.
  virtual void move(std::string node, done reply) = 0;
  /// The node should be emptied, or no longer.
  virtual void drain(std::string node, bool on, done reply) = 0;
};

/// Answers what concerns the cluster; false for other requests. `door` null: a single node.
bool answer_cluster(cluster_door* door, const request& r, const exchange_ptr& x);

} // namespace lycosa::gateway
