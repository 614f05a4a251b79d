#pragma once

#include "core/result.hpp"
#include "core/triggers/calendar_pattern.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace lycosa::trigger {

/// A calendar event expression of systemd.time(7), understood.
struct oncalendar {
  calendar_pattern pattern;
  std::optional<zone> tz;      ///< named at the end of the expression
  std::optional<wall_time> at; ///< `@` and Unix seconds: one moment and no pattern
  std::string normalized;      ///< the expression in full; reads back to the same
};

/// Reads systemd's grammar: `[weekdays] [[year-]month-day] [hour:minute[:second]] [zone]`, lists
/// with `,`, ranges with `..`, repetition with `/`, days from the end of the month with `~`, and
/// the names `minutely` to `yearly`. Errors name the column in `text`.
[[nodiscard]] result<oncalendar> parse_oncalendar(std::string_view text);

} // namespace lycosa::trigger
