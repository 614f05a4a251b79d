#pragma once

#include "actors/node.hpp"
#include "gateway/http.hpp"
#include "gateway/server.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lycosa::gateway {

struct shared_state;

/// What handlers work with.
struct service {
  actors::node& node;
  limits_config limits;
  usec event_keep_alive;
  std::size_t metrics_projects = 0;
  std::string version = {};
  std::weak_ptr<shared_state> front = {}; ///< the server that this is behind
};

/// Answers now or later through the exchange. Captured parts of the path are in `captured`.
using handler = void (*)(service&, const request&, const exchange_ptr&);

/// `pattern`: segments, `{}` for any one that is not empty.
struct route_entry {
  std::string_view method;
  std::string_view pattern;
  handler run;
};

/// What there is, for tests and documentation.
[[nodiscard]] std::span<const route_entry> all_routes();

/// The place in `all_routes` of what a request asks for, or their number.
[[nodiscard]] std::size_t find_route(const request& r);

/// Finds the handler and runs it; answers 404, or 405 with what is allowed. Its place in
/// `all_routes`, or their number if there is none.
std::size_t route(service& s, request r, const exchange_ptr& x);

} // namespace lycosa::gateway
