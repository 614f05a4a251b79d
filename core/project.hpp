#pragma once

#include "core/lifecycle.hpp"
#include "core/result.hpp"
#include "core/retention.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa {

/// Stored; the numbers are part of the disk format. DO NOT CHANGE.
enum class project_status : std::uint8_t {
  todo = 0,
  stop = 1,
  checking = 2,
  debug = 3,
  running = 4,
  paused = 5, ///< accepts tasks, hands none out (an operator's pause; not pyspider's automatic one)
};

[[nodiscard]] std::string_view to_string(project_status s) noexcept;
[[nodiscard]] std::optional<project_status> parse_project_status(std::string_view text) noexcept;

/// Takes tasks: DEBUG and RUNNING as in pyspider, and PAUSED.
[[nodiscard]] constexpr bool accepts_tasks(project_status s) noexcept {
  return s == project_status::debug || s == project_status::running || s == project_status::paused;
}
/// Hands tasks out.
[[nodiscard]] constexpr bool dispatches(project_status s) noexcept {
  return s == project_status::debug || s == project_status::running;
}

struct project_record {
  project_id id{}; ///< 0 = not stored yet
  std::string name;
  std::string group;
  project_status status = project_status::todo;
  double rate = 1;   ///< tasks a second, ≥ 0; 0 = none at all
  double burst = 10; ///< most tokens that can pile up, ≥ 0; < 1 = none at all
  std::string script;
  std::string script_md5; ///< lower-case hex of the script's UTF-8 bytes
  std::string comments;
  usec min_tick{};                   ///< 0 = no ticks
  std::optional<retry_policy> retry; ///< none = scheduler.default_retry_delay
  std::string crawl_config;          ///< JSON object text or empty
  /// The script whose answer to `_on_get_info` is in force (core/messages/info_request.hpp).
  std::string info_md5;
  std::uint64_t queue_limit = 0; ///< queued + delayed + leased at most; 0 = scheduler.inqueue_limit
  /// Waiting tasks kept in memory, about; the rest is read from disk in its turn. 0 = all.
  std::uint64_t queue_window = 0;
  retention retain; ///< of settled tasks
  wall_time updatetime{};
  bool deleting = false; ///< its tasks are being removed; it takes and gives nothing
};

/// `[A-Za-z0-9_.-]{1,64}` or the reason why not.
[[nodiscard]] result<void> check_project_name(std::string_view name);

/// When the deletion rule takes the project: its status is STOP, `delete` is one of the words of
/// its group (split at whatever is no letter, digit or underscore, in any case: pyspider's
/// split_group), and it has not changed for `delete_time`. None = the rule does not concern it.
[[nodiscard]] std::optional<wall_time> deletion_due(const project_record& p, usec delete_time);

/// A partial change: only the members that are set are applied.
struct project_patch {
  std::optional<std::string> group;
  std::optional<project_status> status;
  std::optional<double> rate;
  std::optional<double> burst;
  std::optional<std::string> script;
  std::optional<std::string> comments;
  std::optional<usec> min_tick;
  std::optional<retry_policy> retry;
  bool default_retry = false; ///< no delays of its own any more; `retry` goes before
  std::optional<std::string> crawl_config;
  std::optional<std::uint64_t> queue_limit;
  std::optional<std::uint64_t> queue_window;
  std::optional<usec> retain_age;
  std::optional<std::uint64_t> retain_count;
  /// Set with a script's answer to `_on_get_info`. No change of the project: updatetime, by which
  /// processors know that they must load the script again, stays.
  std::optional<std::string> info_md5;
};

/// Applies a patch. Errors name the field. `now` becomes updatetime. A rate without a burst keeps
/// the stored burst; for a new project the burst defaults to 10 × rate (pyspider's Bucket).
[[nodiscard]] result<project_record> apply_patch(project_record p, const project_patch& patch,
                                                 wall_time now);

} // namespace lycosa
