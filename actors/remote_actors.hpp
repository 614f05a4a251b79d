#pragma once

#include "actors/open_runs.hpp"
#include "core/types.hpp"

#include <memory>

namespace lycosa::actors {

/// Carries out runs for actors of other CAF systems. It has an actor system of its own: made on a
/// thread of its own, it can be ended anywhere, and what other systems can reach over a connection
/// is nothing of the node's. It opens no port.
class remote_actors {
public:
  /// `limit` bounds making a connection, and the look-up of a name. Takes a millisecond; throws
  /// std::exception when the system gives no thread.
  remote_actors(std::shared_ptr<open_runs> runs, usec limit);
  /// Ends connections; runs that are open end as failed. Waits, unless inside a `done`.
  ~remote_actors();
  remote_actors(const remote_actors&) = delete;
  remote_actors& operator=(const remote_actors&) = delete;

  /// Returns at once.
  void start(actor_run_ptr run);

private:
  struct inside;
  std::shared_ptr<inside> inside_;
};

} // namespace lycosa::actors
