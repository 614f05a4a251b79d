#pragma once

#include "core/jobs/executor.hpp"

#include <chrono>
#include <memory>

namespace caf {
class actor_system;
}

namespace lycosa::actors {

struct actor_options {
  /// Longest wait for a connection to another CAF system, and for its registry of names. > 0.
  usec connect_limit = std::chrono::seconds{10};
};

/// Carries out `actor` actions: sends one message and waits for the answer.
///
/// The message is made of CAF's own types, so an actor needs nothing of this project:
///   (std::string job id, std::string payload (JSON), std::int64_t time of the schedule
///    (microseconds since 1970, UTC), std::uint32_t attempt (0 = first))
/// and the answer is a std::string, which becomes the run's value: as it is when it is JSON, else
/// as a JSON string; or nothing, or a caf::error, which becomes the run's error.
///
/// `NAME` is looked up in `local.registry()`, `NAME@HOST:PORT` in the registry of the system there,
/// each time anew. Connections are kept; for them there is an actor system of its own, made with
/// the first such run. A run fails at once when whom it asks ends or the connection is lost; it is
/// not asked again. Without a time-out it is waited for as long as that takes. Nothing is told to
/// whom is asked when a run is given up (time-out, `cancel`, `stop`); its answer is dropped.
///
/// `local` outlives it.
[[nodiscard]] std::unique_ptr<jobs::executor> make_actor_executor(caf::actor_system& local,
                                                                  actor_options options = {});

} // namespace lycosa::actors
