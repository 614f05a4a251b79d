#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"

namespace lycosa::actors {

/// Demand-driven: a task is chosen only when a consumer can take it, so there is no out-queue that
/// goes stale, and a lease starts when the task is handed over.
///
/// A project says once that it is hungry (can hand out something); a consumer brings credit. The
/// dispatcher turns both into grants, one outstanding grant a project, in rotation over the hungry
/// projects (core/fairness.hpp). When nobody waits or nobody is hungry, nothing runs.
dispatcher_actor::behavior_type dispatcher(dispatcher_actor::pointer self, clock_ptr time);

} // namespace lycosa::actors
