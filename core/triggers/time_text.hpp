#pragma once

#include "core/result.hpp"
#include "core/triggers/zone.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace lycosa::trigger {

/// A date, perhaps with a time of day, perhaps with an offset, as a text gives them.
struct time_text {
  std::chrono::local_days date;
  usec time_of_day{0};
  std::optional<std::chrono::seconds> offset;
  bool has_time = false;

  /// The instant meant. A reading without offset is one of the zone's clocks: the first when
  /// they show it twice, and as long after the change as it lies inside a gap.
  [[nodiscard]] wall_time in(zone z) const;
};

/// Reads ISO 8601: `2024-03-31`, `2024-03-31T02:30[:00[.123456]][Z|+02:00|+0200]`, a blank instead
/// of the T, or `@` and Unix seconds. `field` names the input in the error.
[[nodiscard]] result<time_text> parse_time_text(std::string_view text, std::string_view field);

/// ISO 8601 with the zone's offset, microseconds only where there are some.
[[nodiscard]] std::string to_iso(wall_time t, zone z);

/// The offset of a zone at an instant, as `+02:00`.
[[nodiscard]] std::string offset_text(std::chrono::seconds offset);

/// Reads a duration such as `90s`, `1h30m`, `1.5 hours`, `250ms` or a plain number of seconds.
/// Units: us ms s m h d w and their English names. Never negative.
[[nodiscard]] result<usec> parse_duration(std::string_view text, std::string_view field,
                                          std::size_t first_column = 1);

/// The shortest text `parse_duration` reads back to the same value.
[[nodiscard]] std::string duration_text(usec d);

/// A number with decimals, as seconds to a microsecond; exact, no floating point. Empty when the
/// text is not a number or is out of range.
[[nodiscard]] std::optional<usec> parse_seconds(std::string_view text);

} // namespace lycosa::trigger
