#pragma once

#include <functional>

namespace lycosa::cli {

/// Blocks the signals that end or steer a server in this thread and all it starts, and ignores
/// SIGPIPE. Call before any thread is started, then wait for the signals with `wait_for_stop`.
void block_signals();

/// Returns at the first SIGINT or SIGTERM; calls `on_hangup` for each SIGHUP before it.
/// After it returned, a further SIGINT or SIGTERM ends the process at once with status 130.
void wait_for_stop(const std::function<void()>& on_hangup);

} // namespace lycosa::cli
