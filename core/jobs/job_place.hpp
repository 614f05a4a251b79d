#pragma once

#include "core/result.hpp"
#include "core/triggers/trigger.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace lycosa::jobs {

struct job;

/// Where a job is in time, and the little that is known of a job while it rests: enough to tell
/// when it is due and what a start or a set clock does to it.
struct job_place {
  wall_time created{};
  std::optional<wall_time> previous; ///< last nominal time that was decided
  std::optional<trigger::fire> next; ///< none = the trigger has ended
  std::uint64_t runs = 0;            ///< number of the last run, from 1
  bool paused = false;
  bool at_start = false;     ///< its trigger is `@reboot`
  bool run_on_start = false; ///< it runs also when the scheduler starts

  friend bool operator==(const job_place&, const job_place&) = default;
};

[[nodiscard]] job_place place_of(const job& j);

/// Where jobs at rest are kept whole.
class job_source {
public:
  virtual ~job_source() = default;
  /// The job as it was last stored. `corrupt` when it cannot be read.
  virtual result<job> load(std::string_view id) = 0;
};

} // namespace lycosa::jobs
