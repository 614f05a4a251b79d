#pragma once

#include "core/jobs/executor.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa::jobs {

/// Where a run is, or how it ended. One record a nominal time, except that those dropped together
/// share one.
enum class run_state : std::uint8_t {
  queued,   ///< waits for a slot of its executor
  buffered, ///< waits for another run of its job to end
  running,
  retrying, ///< an attempt failed, the next one comes at `retry_at`
  success,
  error,
  timeout,
  cancelled,
  lost,             ///< the scheduler ended while it ran
  missed,           ///< later than the misfire grace
  coalesced,        ///< another time that came due with it was run in its place
  skipped_overlap,  ///< enough runs of the job were under way
  dropped_catch_up, ///< past the bounds of what is made up after downtime
  dropped_queue,    ///< the executor's queue was full, or there is no such executor
};

/// The name used in JSON: the enumerator's.
[[nodiscard]] std::string_view to_string(run_state s);
/// True when nothing more will happen to it.
[[nodiscard]] bool is_final(run_state s);

/// Why there was a run.
enum class run_cause : std::uint8_t { schedule, manual, backfill, start, lost };
[[nodiscard]] std::string_view to_string(run_cause c);

/// What is kept of a run. Written before it starts and after it ends.
struct run_record {
  std::string job_id;
  std::uint64_t number = 0; ///< counts the records of one job from 1
  run_cause cause = run_cause::schedule;
  run_state state = run_state::queued;
  wall_time nominal{};     ///< the schedule's time
  wall_time planned{};     ///< the same with jitter
  std::uint64_t count = 1; ///< nominal times it stands for, more than 1 when dropped together
  bool at_least = false;   ///< `count` is a lower bound
  wall_time last{};        ///< the latest of these times
  std::optional<wall_time> started; ///< of the last attempt
  std::optional<wall_time> ended;
  std::optional<wall_time> retry_at;
  std::uint32_t attempt = 0; ///< 0 = first
  usec late{0};              ///< start, or the decision not to start, minus planned
  run_result result;         ///< of the last attempt; empty before it ended
  std::string reason;        ///< why it did not run, in words; empty when it did
};

/// How much of the history of runs is kept. What is older is not shown, and its room is taken back
/// a piece at a time.
struct history_limits {
  std::uint32_t count = 100;              ///< records a job, ≥ 1
  usec age = std::chrono::hours{24 * 30}; ///< since the run ended; 0 = for ever
  std::uint64_t garbage = 10'000;         ///< superseded records that are not worth a sweep
};

/// One line of JSON, as HTTP shows it.
[[nodiscard]] std::string to_json(const run_record& r);

} // namespace lycosa::jobs
