#pragma once

#include "actors/event_hub.hpp"
#include "core/project_event.hpp"

namespace lycosa::actors {

/// Types of everything the hub of a node is told: events of jobs, then those of projects.
[[nodiscard]] std::vector<std::string> all_event_types();

/// `hub`: null = nobody listens. `why`: one line, may be empty.
void tell(event_hub* hub, project_event_kind what, const project_record& about, wall_time at,
          std::string why = {});

} // namespace lycosa::actors
