#pragma once

#include "core/result.hpp"
#include "core/triggers/calendar_pattern.hpp"

#include <array>
#include <string_view>

namespace lycosa::trigger {

/// Whose cron expressions are meant: they number weekdays, join day and weekday, and allow ranges
/// differently.
enum class dialect : std::uint8_t {
  aps3,   ///< APScheduler 3: Monday = 0, day AND weekday, no wrapping ranges
  aps4,   ///< APScheduler 4: Sunday = 0 or 7, day AND weekday, weekday ranges may wrap
  vixie,  ///< crontab(5): Sunday = 0 or 7, day OR weekday when neither starts with `*`
  quartz, ///< Quartz: Sunday = 1, `L W # ?`, wrapping ranges
};

[[nodiscard]] std::string_view to_string(dialect d) noexcept;
[[nodiscard]] result<dialect> parse_dialect(std::string_view text);

/// The eight fields, from most to least significant.
enum class cron_field : std::uint8_t { year, month, day, week, day_of_week, hour, minute, second };

inline constexpr std::array<std::string_view, 8> cron_field_names{
    "year", "month", "day", "week", "day_of_week", "hour", "minute", "second"};

/// Reads one field's text into its set of `into`. The whole text must be understood. Errors name
/// the field and the column, counted from `first_column`. `seed` chooses the values of `~`.
[[nodiscard]] result<void> parse_cron_field(cron_field field, std::string_view text, dialect d,
                                            std::uint64_t seed, std::size_t first_column,
                                            calendar_pattern& into);

/// True when crontab's rule treats the field as unrestricted: its text starts with `*`.
[[nodiscard]] constexpr bool starts_with_star(std::string_view text) {
  return !text.empty() && (text.front() == '*' || text.front() == '?');
}

/// A number that looks random and is the same whenever asked for the same seed and index.
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::uint64_t index);

} // namespace lycosa::trigger
