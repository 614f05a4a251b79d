#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// When a job runs.
namespace lycosa {

#if defined(__GNUC__)
#define LYCOSA_API __attribute__((visibility("default")))
#define LYCOSA_LOCAL __attribute__((visibility("hidden")))
#else
#define LYCOSA_API
#define LYCOSA_LOCAL
#endif

using duration = std::chrono::microseconds;
/// Calendar time: Unix time in microseconds.
using time_point = std::chrono::sys_time<duration>;

/// Fields of a cron trigger, as APScheduler has them: those left out below the least significant
/// one given take their minimum (`{.hour = "8"}` is 08:00:00), those above it are `*`. Each is a
/// list of `*`, `*/n`, `a`, `a-b`, `a-b/n`; `month` and `day_of_week` take names (Monday = 0);
/// `day` also `last`, `2nd fri`, `last sun`. All fields must match.
struct cron_fields {
  std::string year = {}, month = {}, day = {}, week = {}, day_of_week = {}, hour = {}, minute = {},
              second = {};
};

/// A step by the calendar at a time of day: every second month, on the day of the start.
struct calendar_step {
  int years = 0, months = 0, weeks = 0, days = 0;
  int hour = 0, minute = 0, second = 0;
};

/// When a job runs: made by the functions below. It is checked when a job is added, a text also
/// when it is combined; a `scheduler_error` then names the field and the reason.
class LYCOSA_API schedule {
public:
  /// A TRIGGER object (JSON), or what a person would type: `*/5 * * * *`, `@daily`, `every 90s`,
  /// `oncalendar: Mon..Fri 09:00`.
  schedule(std::string text) : text_(std::move(text)) {} // NOLINT: reads like a literal
  schedule(const char* text) : text_(text) {}            // NOLINT
  schedule(const cron_fields& fields);                   // NOLINT

  /// A copy with one more member; each replaces an earlier one.
  [[nodiscard]] schedule in_zone(std::string_view iana_name) const;
  [[nodiscard]] schedule starting(time_point first) const;
  [[nodiscard]] schedule until(time_point last) const;     ///< included
  [[nodiscard]] schedule with_jitter(duration most) const; ///< a delay of up to `most` a time
  [[nodiscard]] schedule with(std::string_view member, std::string_view value) const;

  /// JSON, or the text it was made of.
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  std::string text_;
};

/// Elapsed time; the wall clock's hour shifts when summer time begins. Must be more than 0.
[[nodiscard]] LYCOSA_API schedule every(duration interval);
/// Five fields of a crontab, or `@daily` and its kin. Sunday is 0 and 7.
[[nodiscard]] LYCOSA_API schedule cron(std::string_view expression);
[[nodiscard]] LYCOSA_API schedule cron(const cron_fields& fields);
/// Once. A time that has passed runs at once, if it is within the misfire grace.
[[nodiscard]] LYCOSA_API schedule at(time_point when);
template <class Duration>
[[nodiscard]] schedule at(std::chrono::sys_time<Duration> when) {
  return at(std::chrono::time_point_cast<duration>(when));
}
[[nodiscard]] LYCOSA_API schedule calendar(const calendar_step& step);
/// systemd's calendar expressions, e.g. `Mon..Fri *-*-* 09:00:00`.
[[nodiscard]] LYCOSA_API schedule oncalendar(std::string_view expression);
/// The times of each, without duplicates.
[[nodiscard]] LYCOSA_API schedule any_of(std::initializer_list<schedule> all);
/// The times that all have in common.
[[nodiscard]] LYCOSA_API schedule all_of(std::initializer_list<schedule> all);

} // namespace lycosa
