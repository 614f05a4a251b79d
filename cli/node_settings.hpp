#pragma once

#include "actors/node.hpp"
#include "conf/settings.hpp"
#include "core/result.hpp"
#include "gateway/server.hpp"

namespace lycosa::cli {

/// What the node is told of the configuration.
[[nodiscard]] actors::node_config to_node_config(const conf::settings& s);

/// What the HTTP front is told of it. `invalid_argument` names the key.
[[nodiscard]] result<gateway::server_config> to_server_config(const conf::settings& s);

} // namespace lycosa::cli
