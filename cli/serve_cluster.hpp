#pragma once

#include "cli/context.hpp"
#include "conf/load.hpp"

namespace lycosa::cli {

/// `lycosa serve` as one node of a cluster, until SIGINT or SIGTERM. Logging runs, signals are
/// blocked. Returns the exit status.
int serve_in_cluster(const conf::loaded& config, context& ctx);

} // namespace lycosa::cli
