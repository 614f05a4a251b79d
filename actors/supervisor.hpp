#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "actors/project.hpp"
#include "actors/registry.hpp"
#include "storage/catalog.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace lycosa::actors {

struct supervisor_config {
  std::shared_ptr<registry> projects;
  project_environment environment; ///< what every project actor is given
  catalog_actor catalog;
  std::vector<project_record> stored;              ///< as found in the catalog at start
  std::map<project_id, project_counters> counters; ///< likewise
  /// Called once all stored projects are in the registry: only then may requests come, or a known
  /// project would be answered with "no such project".
  std::function<void()> ready;
  bool full_buckets = true; ///< of the stored projects, see project_environment
  usec delete_time = std::chrono::hours{24}; ///< see deletion_due
  std::uint32_t exception_limit = 3;         ///< restarts of a project actor until it is given up
  usec restart_backoff = std::chrono::milliseconds{100}; ///< doubled with each restart
};

/// Starts one project actor a project, watches them and starts a failed one again with its state
/// reloaded from the store. pyspider's EXCEPTION_LIMIT, which ended the process, is here a budget
/// of restarts a project: past it the project is failed and the rest goes on.
supervisor_actor::behavior_type supervisor(supervisor_actor::pointer self,
                                           supervisor_config config);

/// The stored counters of all projects. Those that cannot be read begin anew, and the log says so.
result<std::map<project_id, project_counters>> read_counters(storage::catalog_store& store);

/// Spawn detached: catalog commits block on the disk. Stores counters that have changed once a
/// second, less often when that takes long; a kill costs the windows what they counted since (the
/// totals are the states of tasks and lose nothing).
catalog_actor::behavior_type catalog(catalog_actor::pointer self, storage::catalog_store* store,
                                     clock_ptr time);

} // namespace lycosa::actors
