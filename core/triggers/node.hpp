#pragma once

#include "core/triggers/calendar_pattern.hpp"
#include "core/triggers/trigger.hpp"
#include "core/triggers/wall_search.hpp"

#include <string>
#include <variant>
#include <vector>

namespace lycosa::trigger::detail {

/// Never by itself: `@reboot`, and nothing at all.
struct start_rule {
  bool at_start = false;
  friend bool operator==(const start_rule&, const start_rule&) = default;
};

struct date_rule {
  wall_time at;
  friend bool operator==(const date_rule&, const date_rule&) = default;
};

struct interval_rule {
  usec length{0};
  bool wall_clock = false; ///< counts what the clocks show instead of time passed
  friend bool operator==(const interval_rule&, const interval_rule&) = default;
};

/// Calendar steps: months first, until the day exists, then days.
struct step_rule {
  std::int32_t months = 0;
  std::int32_t days = 0;
  usec time_of_day{0};
  std::chrono::local_days start{};
  bool has_start = false;
  bool has_last = false;
  std::chrono::local_days last{}; ///< last date allowed

  /// The first date of the sequence not before `from`.
  [[nodiscard]] std::optional<std::chrono::local_days>
  first_from(std::chrono::local_days start_date, std::chrono::local_days from) const;

  friend bool operator==(const step_rule&, const step_rule&) = default;
};

/// All at once, within `threshold` of the earliest.
struct and_rule {
  std::vector<trigger> members;
  usec threshold{0};
  // The common grid of the members that keep to one, set by `find_grid`.
  std::int64_t phase = 0, step = 1;
  bool impossible = false; ///< no microsecond is on all members' grids
  friend bool operator==(const and_rule&, const and_rule&) = default;
};

struct or_rule {
  std::vector<trigger> members;
  friend bool operator==(const or_rule&, const or_rule&) = default;
};

/// A holiday: one or more whole local days, once or every year.
struct day_range {
  std::chrono::local_days first{}, last{};
  std::uint8_t month = 0, day = 0; ///< every year, when month is not 0
  friend bool operator==(const day_range&, const day_range&) = default;
};

struct except_rule {
  trigger base;
  std::vector<trigger> times;
  std::vector<day_range> days;
  friend bool operator==(const except_rule&, const except_rule&) = default;
};

/// The immutable content of a trigger.
struct node {
  std::variant<start_rule, date_rule, interval_rule, calendar_pattern, step_rule, and_rule, or_rule,
               except_rule>
      rule;
  zone tz;
  wall_time start = wall_time::min(); ///< nothing before it
  wall_time end = wall_time::max();   ///< nothing after it; itself included
  usec jitter{0};
  change_policy policy;

  [[nodiscard]] bool has_start() const { return start != wall_time::min(); }

  /// The first time not before `x`, without regard to `end`.
  [[nodiscard]] std::optional<wall_time> first(wall_time x) const;

  friend bool operator==(const node&, const node&) = default;
};

[[nodiscard]] std::optional<wall_time> first_of(const interval_rule& r, const node& n, wall_time x);
[[nodiscard]] std::optional<wall_time> first_of(const step_rule& r, const node& n, wall_time x,
                                                std::chrono::local_days start);
[[nodiscard]] std::optional<wall_time> first_of(const and_rule& r, wall_time x);
/// Works out where the members' grids coincide, so that the search goes from one such time to the
/// next and grids that never coincide are known at once. To be called once when all are set.
void find_grid(and_rule& r);
[[nodiscard]] std::optional<wall_time> first_of(const or_rule& r, wall_time x);
[[nodiscard]] std::optional<wall_time> first_of(const except_rule& r, const node& n, wall_time x);
/// The first meeting after the one at `previous`: members that took part in that one have moved on.
[[nodiscard]] std::optional<wall_time> next_of(const and_rule& r, wall_time previous);

} // namespace lycosa::trigger::detail
