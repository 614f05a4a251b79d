#pragma once

#include "core/project.hpp"
#include "core/types.hpp"

#include <string>
#include <vector>

namespace lycosa {

/// What happens to a project.
enum class project_event_kind : std::uint8_t {
  added,
  modified,
  removed,  ///< its name is free; its data goes meanwhile
  paused,   ///< its last crawls all failed
  resumed,  ///< tried again, by time or by an operator
  finished, ///< it has run dry: `on_finished` was queued
  given_up, ///< what carries it failed too often
};

struct project_event {
  project_event_kind kind{};
  wall_time at{};
  std::string project;
  project_status status{};
  std::string reason; ///< one line; may be empty
};

/// E.g. `PROJECT_ADDED`, each at the position of its kind.
[[nodiscard]] std::vector<std::string> project_event_names();

/// One line of JSON.
[[nodiscard]] std::string to_json(const project_event& e);

} // namespace lycosa
