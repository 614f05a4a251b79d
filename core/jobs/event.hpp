#pragma once

#include "core/jobs/run.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::jobs {

/// Kinds of events; the value is the bit in a mask. 0 to 16 are APScheduler's.
enum class event_kind : std::uint8_t {
  scheduler_started = 0,
  scheduler_shutdown = 1,
  scheduler_paused = 2,
  scheduler_resumed = 3,
  executor_added = 4,
  executor_removed = 5,
  jobstore_added = 6,
  jobstore_removed = 7,
  all_jobs_removed = 8,
  job_added = 9,
  job_removed = 10,
  job_modified = 11,
  job_executed = 12,
  job_error = 13, ///< the last attempt failed or timed out
  job_missed = 14,
  job_submitted = 15,
  job_max_instances = 16,
  job_started = 17,
  job_retrying = 18,
  job_cancelled = 19,
  job_lost = 20,
  job_coalesced = 21,
  job_buffered = 22,
  catch_up_dropped = 23,
  queue_dropped = 24,
  job_paused = 25,
  job_resumed = 26,
  job_finished = 27, ///< its trigger has ended
  gap = 28,          ///< a listener was too slow: `count` events are missing here
};

using event_mask = std::uint32_t;
[[nodiscard]] constexpr event_mask mask_of(event_kind k) {
  return event_mask{1} << static_cast<unsigned>(k);
}
inline constexpr event_mask all_events = (event_mask{1} << 29) - 1;

/// APScheduler's spelling, e.g. "JOB_EXECUTED"; the others in the same manner.
[[nodiscard]] std::string_view to_string(event_kind k);

/// What happened. For one run the order is submitted, started, then how it ended.
struct job_event {
  event_kind kind{};
  wall_time at{};
  std::string job_id;      ///< empty for events of the scheduler
  run_record run;          ///< of events about a run
  std::uint64_t count = 1; ///< of a gap: events missing; of all_jobs_removed: how many they were
  std::string alias{};     ///< of executors and job stores: the name
};

/// One line of JSON.
[[nodiscard]] std::string to_json(const job_event& e);

/// Names of all kinds but `gap`, each at the position of its kind.
[[nodiscard]] std::vector<std::string> event_names();

} // namespace lycosa::jobs
