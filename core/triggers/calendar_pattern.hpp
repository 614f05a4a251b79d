#pragma once

#include "core/triggers/zone.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace lycosa::trigger {

/// The years first, first + step, … up to last.
struct year_range {
  std::uint16_t first = 0, last = 0, step = 1;
  friend auto operator<=>(const year_range&, const year_range&) = default;
};

/// The seconds of a minute start, start + step, … up to last, in microseconds.
struct second_range {
  std::uint32_t start = 0, last = 0, step = 0;
  friend auto operator<=>(const second_range&, const second_range&) = default;
};

/// Which local dates and times of day an expression names: sets of numbers as bits, so that a
/// trigger takes little memory and the next match is found without trying every second. Knows
/// nothing of zones; a reading it gives may not exist, or exist twice, on a zone's clocks.
class calendar_pattern {
public:
  static constexpr int first_year = 1970, last_year = 9999;

  // Dates. All bits set where nothing is asked for.
  std::uint32_t days = all_days;      ///< bit d: day d of the month
  std::uint32_t days_from_end = 0;    ///< bit n: n days before the last of the month
  std::uint32_t workday_near = 0;     ///< bit d: Monday-Friday nearest to day d, same month
  std::uint32_t workday_from_end = 0; ///< bit n: the same, counted from the last day
  std::uint64_t nth_weekdays = 0;     ///< bit 7(n-1)+w: n-th weekday w (0 Monday); n = 6: the last
  std::uint64_t weeks = 0;            ///< bit w: ISO week w; 0 = any
  std::uint16_t months = 0x1ffe;      ///< bit m: month m
  std::uint8_t weekdays = 0x7f;       ///< bit w: weekday w, 0 Monday
  bool nth_is_weekday = false;        ///< `nth_weekdays` widens `weekdays` and not `days`
  bool either_day = false;            ///< a date matches by its day or by its weekday

  // Times of day.
  std::uint32_t hours = 0xffffff;
  std::uint64_t minutes = all_sixty;
  std::uint64_t seconds = all_sixty;

  /// Years allowed; empty = all from 1970 to `year_limit`.
  std::vector<year_range> years;
  std::uint16_t year_limit = last_year;
  /// In place of `seconds`, when those are not whole.
  std::vector<second_range> fractions;

  static constexpr std::uint32_t all_days = 0xfffffffe;
  static constexpr std::uint64_t all_sixty = (std::uint64_t{1} << 60) - 1;

  /// To be called once when the fields are set: finds out which kinds of year hold a match at all,
  /// and sorts the lists, so that patterns that differ in their order of writing alone are equal.
  void finish();

  /// True when no date there can ever be matches, as 31 April. Decided by the calendar, which
  /// repeats every 400 years, not by search.
  [[nodiscard]] bool impossible() const { return year_kinds_ == 0; }

  /// The first matching reading not before `from`.
  [[nodiscard]] std::optional<local_time> next(local_time from) const;

  /// True when a reading matches.
  [[nodiscard]] bool matches(local_time t) const { return next(t) == t; }

  friend bool operator==(const calendar_pattern&, const calendar_pattern&) = default;

private:
  [[nodiscard]] std::uint32_t days_of(std::chrono::year_month month) const;
  [[nodiscard]] std::optional<std::chrono::local_days>
  next_date(std::chrono::local_days from) const;
  [[nodiscard]] std::optional<usec> next_time(usec from) const;
  [[nodiscard]] std::optional<std::uint32_t> next_second(std::uint32_t from_us) const;
  [[nodiscard]] std::uint32_t fraction_carried() const; ///< microseconds
  [[nodiscard]] int next_year(int from) const;          ///< 0: none

  std::uint32_t year_kinds_ = 0x1fffff; ///< bit per kind of year that holds a matching date
};

/// Number of days of a month.
[[nodiscard]] unsigned days_in(std::chrono::year_month month);

} // namespace lycosa::trigger
