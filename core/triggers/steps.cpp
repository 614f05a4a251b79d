#include "core/triggers/node.hpp"

#include <algorithm>

namespace lycosa::trigger::detail {
namespace {

using namespace std::chrono;

/// a / b rounded up, for b > 0.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a > 0 ? (a + b - 1) / b : a / b;
}

/// Adds months, again and again, until the day exists in the month arrived at. Empty past 9999.
std::optional<year_month_day> add_months(year_month_day date, std::int32_t months) {
  const day d = date.day();
  year_month m{date.year(), date.month()};
  // A day of the month comes round within a few years however long the step is; 29 February with
  // steps of whole years needs up to eight of them.
  for (int tries = 0; tries < 100; ++tries) {
    m += std::chrono::months{months};
    if (m.year() > year{9999}) return std::nullopt;
    if ((m / d).ok()) return m / d;
  }
  return std::nullopt;
}

} // namespace

std::optional<local_days> step_rule::first_from(local_days start_date, local_days from) const {
  if (from <= start_date) return start_date;
  if (months == 0) {
    const auto k = ceil_div((from - start_date).count(), days);
    return start_date + std::chrono::days{k * days};
  }
  const year_month_day first{start_date};
  if (days == 0) {
    // Start, start + n months, …, less the dates that do not exist: go straight to the month.
    const year_month_day goal{from};
    const int apart = (static_cast<int>(goal.year()) - static_cast<int>(first.year())) * 12
                      + static_cast<int>(static_cast<unsigned>(goal.month()))
                      - static_cast<int>(static_cast<unsigned>(first.month()));
    for (std::int64_t k = std::max(0, apart) / months;; ++k) {
      const auto m = year_month{first.year(), first.month()} + std::chrono::months{k * months};
      if (m.year() > year{9999} || k > std::max(0, apart) / months + 100) return std::nullopt;
      if ((m / first.day()).ok() && local_days{m / first.day()} >= from)
        return local_days{m / first.day()};
    }
  }
  // Months and days: where each step leads depends on the one before.
  local_days at = start_date;
  for (int step = 0; at < from; ++step) {
    if (step % 16 == 0 && !search_budget::spend()) return std::nullopt;
    const auto next = add_months(year_month_day{at}, months);
    if (!next) return std::nullopt;
    at = local_days{*next} + std::chrono::days{days};
  }
  return at;
}

std::optional<wall_time> first_of(const step_rule& r, const node& n, wall_time x,
                                  local_days start) {
  return search_wall(n.tz, x, n.policy, [&](local_time t) -> std::optional<local_time> {
    const local_days today = floor<std::chrono::days>(t);
    const local_days from = t - today > r.time_of_day ? today + std::chrono::days{1} : today;
    const auto date = r.first_from(start, from);
    if (!date || (r.has_last && *date > r.last)) return std::nullopt;
    if (year_month_day{*date}.year() > year{9999}) return std::nullopt;
    return *date + r.time_of_day;
  });
}

std::optional<wall_time> first_of(const interval_rule& r, const node& n, wall_time x) {
  // Without a start the grid is counted from the beginning of 1970.
  const wall_time start = n.has_start() ? n.start : wall_time{};
  if (!r.wall_clock) {
    const auto k = ceil_div((x - start).count(), r.length.count());
    return start + k * r.length;
  }
  const local_time origin = n.tz.at(start).to_local(start);
  return search_wall(n.tz, x, n.policy, [&](local_time t) -> std::optional<local_time> {
    return origin + ceil_div((t - origin).count(), r.length.count()) * r.length;
  });
}

} // namespace lycosa::trigger::detail
