#pragma once

#include "actors/node.hpp"
#include "bridges/bridge.hpp"
#include "cli/listeners.hpp"
#include "conf/settings.hpp"
#include "gateway/server.hpp"

#include <memory>
#include <vector>

namespace lycosa::cli {

/// The scheduler together with what works for it in this process: executors of jobs, listeners to
/// events, bridges to message queues. In a cluster it comes and goes while the process stays.
class scheduler {
public:
  /// Opens the data and starts all but the bridges. `config` as from `to_node_config`, without
  /// executors.
  static result<std::unique_ptr<scheduler>> start(const conf::settings& s,
                                                  actors::node_config config);

  /// From now on tasks come in from message queues too.
  result<void> start_bridges(const conf::settings& s, const gateway::limits_config& limits);
  /// Before what serves clients is stopped.
  void stop_bridges();

  /// Ends it all; what was answered is on disk.
  void stop();

  [[nodiscard]] actors::node& node() { return *node_; }

private:
  std::unique_ptr<actors::node> node_;
  listeners told_;
  std::vector<std::unique_ptr<bridges::bridge>> bridges_;
};

} // namespace lycosa::cli
