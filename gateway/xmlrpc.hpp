#pragma once

#include "actors/node.hpp"
#include "gateway/http.hpp"
#include "gateway/server.hpp"

#include <atomic>
#include <functional>
#include <utility>

namespace lycosa::gateway {

/// What pyspider's XML-RPC methods work with.
struct xmlrpc_service {
  xmlrpc_service(actors::node& n, const limits_config& l, std::function<void()> q)
      : node(n), limits(l), quit(std::move(q)) {}
  actors::node& node;
  limits_config limits;
  std::function<void()> quit;           ///< `_quit`: ends the process in order; may be called often
  std::atomic<std::uint64_t> faults{0}; ///< calls answered with a fault
};

/// Answers one request: pyspider's nine methods and the three of system introspection.
void answer_xmlrpc(xmlrpc_service& s, request r, const exchange_ptr& x);

} // namespace lycosa::gateway
