#pragma once

#include "gateway/http.hpp"
#include "gateway/http_meters.hpp"
#include "gateway/server.hpp"

#include <atomic>
#include <functional>
#include <memory>

namespace lycosa::gateway {

/// What the connections of one server share.
struct shared_state {
  explicit shared_state(std::size_t routes) : meters(routes) {}
  server_config config;
  std::shared_ptr<budget> in_flight;
  /// Must answer; on the connection's thread. Tells which of the meters counts the request.
  std::function<std::size_t(request, exchange_ptr)> handle;
  http_meters meters;
  std::atomic<std::size_t> connections{0};
  std::atomic<bool> stopping{false};
};

/// One connection, as its server sees it. All calls on the connection's thread.
class session {
public:
  virtual ~session() = default;
  /// Closes it now if it waits for a request, else after the answer that is due.
  virtual void wind_down() = 0;
  /// Closes it now.
  virtual void cut() = 0;
};

} // namespace lycosa::gateway
