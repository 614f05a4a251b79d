#pragma once

#include <lycosa/schedule.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the scheduler tells of runs and jobs.
namespace lycosa {

/// Kinds of events, to be combined by `|`. For one run the order is submitted, started, how it
/// ended.
namespace events {
using mask = std::uint32_t;
inline constexpr mask scheduler_started = 1u << 0;
inline constexpr mask scheduler_shutdown = 1u << 1; ///< the last one
inline constexpr mask scheduler_paused = 1u << 2;
inline constexpr mask scheduler_resumed = 1u << 3;
inline constexpr mask executor_added = 1u << 4;
inline constexpr mask executor_removed = 1u << 5; ///< never: they are there as long as it runs
inline constexpr mask jobstore_added = 1u << 6;
inline constexpr mask jobstore_removed = 1u << 7; ///< never
inline constexpr mask all_jobs_removed = 1u << 8;
inline constexpr mask job_added = 1u << 9;
inline constexpr mask job_removed = 1u << 10;
inline constexpr mask job_modified = 1u << 11; ///< also by pause, resume and reschedule
inline constexpr mask job_executed = 1u << 12; ///< with success
inline constexpr mask job_error = 1u << 13;    ///< the last attempt failed or timed out
inline constexpr mask job_missed = 1u << 14;   ///< later than the misfire grace
inline constexpr mask job_submitted = 1u << 15;
inline constexpr mask job_max_instances = 1u << 16; ///< dropped: enough runs were under way
inline constexpr mask job_started = 1u << 17;
inline constexpr mask job_retrying = 1u << 18;
inline constexpr mask job_cancelled = 1u << 19;
inline constexpr mask job_lost = 1u << 20; ///< the program had ended while it ran
inline constexpr mask job_coalesced = 1u << 21;
inline constexpr mask job_buffered = 1u << 22;
inline constexpr mask catch_up_dropped = 1u << 23;
inline constexpr mask queue_dropped = 1u << 24;
inline constexpr mask job_paused = 1u << 25;
inline constexpr mask job_resumed = 1u << 26;
inline constexpr mask job_finished = 1u << 27; ///< its trigger has ended
inline constexpr mask gap = 1u << 28; ///< `count` events are missing: the listener was too slow
inline constexpr mask all = (1u << 29) - 1;
} // namespace events

/// Where a run is, or how it ended.
enum class run_state : std::uint8_t {
  queued,   ///< waits for a slot of its executor
  buffered, ///< waits for another run of its job to end
  running,
  retrying,
  success,
  error,
  timeout,
  cancelled,
  lost,             ///< the program had ended while it ran
  missed,           ///< later than the misfire grace
  coalesced,        ///< another time that came due with it was run in its place
  skipped_overlap,  ///< enough runs of the job were under way
  dropped_catch_up, ///< past the bounds of what is made up after downtime
  dropped_queue,    ///< the executor's queue was full
};
[[nodiscard]] LYCOSA_API std::string_view to_string(run_state s);

/// One run of a job.
struct run_info {
  std::string job_id;
  std::uint64_t number = 0; ///< counts the records of a job from 1
  run_state state = run_state::queued;
  time_point nominal_time{}; ///< of the schedule
  std::optional<time_point> started, ended;
  unsigned attempt = 0;    ///< 0 = first
  std::uint64_t count = 1; ///< times it stands for; more than 1 when they were dropped together
  std::string value;       ///< what the function returned, JSON; empty = nothing
  std::string error;       ///< why it failed; empty if it did not
  std::string output;      ///< end of a command's output or of an answer's body
  std::string reason;      ///< why it did not run; empty when it did
  std::string json;        ///< all that is known of it
};

struct event {
  events::mask kind = 0; ///< one bit
  time_point at{};
  std::string job_id;          ///< empty for events of the scheduler
  std::optional<run_info> run; ///< of events about a run
  std::uint64_t count = 1;     ///< of a gap: events missing; of all_jobs_removed: jobs
  std::string alias;           ///< of executors and job stores: the name

  /// APScheduler's spelling, e.g. `JOB_EXECUTED`.
  [[nodiscard]] LYCOSA_API std::string_view name() const;
};

} // namespace lycosa
