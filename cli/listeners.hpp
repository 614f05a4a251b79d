#pragma once

#include "conf/settings.hpp"

#include "bridges/event_listeners.hpp"

#include <memory>
#include <string>
#include <vector>

namespace lycosa::cli {

/// What keeps listeners from being started, each error under its key. Needs no node: `config check`
/// asks this too.
[[nodiscard]] std::vector<error> check_listeners(const conf::events_settings& s);

/// Those whom the configuration wants to be told of events. They outlive the node, to tell of its
/// end.
class listeners {
public:
  /// The error names the key.
  result<void> start(const conf::events_settings& s, actors::event_hub& hub);
  /// All at a time; ends within about a second.
  void stop();

private:
  result<void> add(result<std::unique_ptr<bridges::event_listener>> made, const std::string& key);

  std::shared_ptr<jobs::executor> sender_;
  std::vector<std::unique_ptr<bridges::event_listener>> all_;
};

} // namespace lycosa::cli
