#pragma once

#include "actors/node.hpp"
#include "conf/settings.hpp"
#include "core/result.hpp"
#include "gateway/server.hpp"

#include "bridges/bridge.hpp"

namespace lycosa::cli {

[[nodiscard]] actors::job_settings to_job_settings(const conf::jobs_settings& s);

/// What the node is told of the configuration.
[[nodiscard]] actors::node_config to_node_config(const conf::settings& s);

/// What the HTTP front is told of it. `invalid_argument` names the key.
[[nodiscard]] bridges::amqp_config to_amqp_config(const conf::settings& s,
                                                  const gateway::limits_config& limits);
/// Precondition: `redis.url` is set.
bridges::redis_config to_redis_config(const conf::settings& s,
                                      const gateway::limits_config& limits);
/// The XML-RPC server's, with the limits of HTTP.
result<gateway::server_config> to_xmlrpc_config(const conf::settings& s);
result<gateway::server_config> to_server_config(const conf::settings& s);

} // namespace lycosa::cli
