#pragma once

#include "core/jobs/action.hpp"
#include "core/result.hpp"
#include "core/triggers/trigger.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::jobs {

/// What happens to a nominal time that comes while `max_instances` runs of the job are under way.
enum class overlap_policy : std::uint8_t {
  skip,         ///< it is dropped
  buffer_one,   ///< it waits for a run to end; another one that comes meanwhile is dropped
  buffer_all,   ///< all wait, up to `engine_limits::buffer`
  cancel_other, ///< the runs under way are cancelled, then it starts
  allow,        ///< it runs beside them; `max_instances` counts only when it is more than 1
};

/// Which of several nominal times that came due together are run. Those past the misfire grace
/// are taken out before.
enum class coalesce_policy : std::uint8_t { latest, earliest, all };

[[nodiscard]] std::string_view to_string(overlap_policy p);
[[nodiscard]] std::string_view to_string(coalesce_policy p);

/// A job: what to do, when, and under which rules. The members up to `run_on_start` are the
/// client's, named and defaulted as in the HTTP interface; the rest is kept by the scheduler.
struct job {
  std::string id; ///< 1 to 255 bytes, no control characters
  std::string name;
  std::string trigger_json; ///< the TRIGGER object, one line
  std::string timezone;     ///< IANA name; for a trigger that names none; empty = the machine's
  jobs::action action;
  std::string action_json; ///< the ACTION object as it was sent, one line
  std::string executor = "default";
  std::uint32_t max_instances = 1; ///< ≥ 1
  overlap_policy overlap = overlap_policy::skip;
  coalesce_policy coalesce = coalesce_policy::latest;
  std::optional<usec> misfire_grace = std::chrono::seconds{60}; ///< none = never too late
  usec jitter{0}; ///< added to the trigger's times unless it has a jitter of its own
  std::uint32_t retries = 0;
  /// Wait before the n-th retry; the last element counts for all that follow. Empty = 10 s,
  /// doubling up to an hour.
  std::vector<usec> retry_delay;
  std::optional<usec> timeout; ///< of one attempt
  std::map<std::string, std::string> tags;
  bool run_on_start = false; ///< also run when the scheduler starts
  bool rerun_lost = false;   ///< a run cut off by a crash is run again
  bool keep_finished = true; ///< a job whose trigger has ended stays, with its history
  bool paused = false;
  std::string pause_reason;

  // -- kept by the scheduler
  trigger::trigger trigger;          ///< compiled from the members above
  wall_time created{};               ///< intervals without a start are counted from here
  std::optional<wall_time> previous; ///< last nominal time that was decided
  std::optional<trigger::fire> next; ///< also while paused; none = the trigger has ended
  std::uint64_t runs = 0;            ///< number of the last run, from 1

  /// What clients call next_run_time: nothing while paused.
  [[nodiscard]] std::optional<wall_time> next_run_time() const {
    return next && !paused ? std::optional{next->planned()} : std::nullopt;
  }
  [[nodiscard]] bool finished() const { return !next && !trigger.at_start(); }
};

/// A change of some members; what is left out stays.
struct job_patch {
  std::string members; ///< a JSON object with members of a job other than `id`
};

/// Wait before retry number `retry` (1 = the first).
[[nodiscard]] usec retry_wait(const job& j, std::uint32_t retry);

/// Stable seed of a job's jitter and of `~` in its trigger.
[[nodiscard]] std::uint64_t seed_of(std::string_view id);

/// Makes `trigger` from `trigger_json`, `timezone`, `jitter` and `created`. Errors name the member,
/// e.g. `trigger.hour`.
[[nodiscard]] result<void> compile_trigger(job& j);

/// What the job's trigger means, in words, with its zone and jitter. For a job whose trigger is
/// compiled.
[[nodiscard]] std::string explain_trigger(const job& j);

} // namespace lycosa::jobs
