#pragma once

#include "actors/node.hpp"

#include <string>
#include <vector>

namespace lycosa::gateway {

/// `[[time, task],…]` with the keys pyspider shows of active tasks. The entries are copies: reading
/// them changes nothing (pyspider 224, 531: its live tasks lost their parts).
[[nodiscard]] std::string active_json(const std::vector<actors::active_entry>& all);

} // namespace lycosa::gateway
