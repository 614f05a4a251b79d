#pragma once

#include "actors/node.hpp"
#include "gateway/http.hpp"
#include "gateway/server.hpp"

#include <span>
#include <string_view>

namespace lycosa::gateway {

/// What handlers work with.
struct service {
  actors::node& node;
  limits_config limits;
  usec event_keep_alive;
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

/// Finds the handler and runs it; answers 404, or 405 with what is allowed.
void route(service& s, request r, const exchange_ptr& x);

} // namespace lycosa::gateway
