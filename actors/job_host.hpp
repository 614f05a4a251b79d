#pragma once

#include "actors/job_events.hpp"
#include "actors/jobs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lycosa::actors {

struct job_host_config {
  std::string data;           ///< data directory; empty = memory only, nothing survives
  std::uint64_t map_size = 0; ///< bytes the store may grow to; 0 = 1 TiB of address space
  std::uint64_t reserve = std::uint64_t{1} << 20; ///< bytes of disk kept back for ends of runs
  bool sync = true;                               ///< answer only what is on disk
  job_settings jobs;
  std::shared_ptr<job_events> events; ///< who subscribes before `open` misses nothing
};

/// The job scheduler alone, without projects and tasks; what a program embeds. Opens no port, and
/// no socket unless a job asks an actor of another program. Its data directory is a node's, so
/// `lycosa serve` can open it later, and the other way round.
class job_host {
public:
  /// Returns when the stored jobs have been read and the first ones run. The threads made have
  /// every signal blocked. Fails as `storage::open_data_dir` and `job_settings::ready` say.
  static result<std::unique_ptr<job_host>> open(job_host_config config);

  /// Stops without waiting for runs under way, if it has not been stopped.
  virtual ~job_host() = default;

  virtual job_service& jobs() = 0;

  /// Starts nothing more; runs under way are awaited for `wait` (none = as long as they take), then
  /// asked to end. Returns at once. A later call may shorten the wait.
  virtual void stop(std::optional<usec> wait) = 0;
  /// Returns when all has ended after `stop` and is stored.
  virtual void wait() = 0;
};

} // namespace lycosa::actors
