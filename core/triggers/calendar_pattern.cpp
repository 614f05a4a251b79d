#include "core/triggers/calendar_pattern.hpp"

#include <algorithm>
#include <bit>

namespace lycosa::trigger {
namespace {

using namespace std::chrono;

/// 0 Monday … 6 Sunday.
unsigned weekday_of(local_days d) {
  return weekday{d}.iso_encoding() - 1;
}

/// Years with the same kind have the same calendar, ISO week numbers included: 7 weekdays for the
/// first of January, and an ordinary year, a leap year, or one after a leap year.
unsigned kind_of(year y) {
  const unsigned length = y.is_leap() ? 1 : (y - years{1}).is_leap() ? 2 : 0;
  return length * 7 + weekday_of(local_days{y / January / 1});
}

/// The ISO week a date lies in, 1 to 53.
unsigned iso_week(local_days d) {
  const local_days thursday = d - days{weekday_of(d)} + days{3};
  const year y = year_month_day{thursday}.year();
  return static_cast<unsigned>((thursday - local_days{y / January / 1}).count() / 7 + 1);
}

template <class Bits>
int next_bit(Bits bits, unsigned from) {
  if (from >= sizeof(Bits) * 8) return -1;
  bits = static_cast<Bits>(bits >> from);
  return bits == 0 ? -1 : static_cast<int>(from) + std::countr_zero(bits);
}

/// The Monday to Friday nearest to a day without leaving its month.
unsigned nearest_workday(unsigned day, unsigned first_weekday, unsigned length) {
  const unsigned wd = (first_weekday + day - 1) % 7;
  if (wd == 5) return day == 1 ? 3 : day - 1;
  if (wd == 6) return day == length ? day - 2 : day + 1;
  return day;
}

} // namespace

unsigned days_in(year_month month) {
  return static_cast<unsigned>((month.year() / month.month() / last).day());
}

std::uint32_t calendar_pattern::days_of(year_month month) const {
  const local_days first = local_days{month / 1};
  const unsigned length = days_in(month);
  const unsigned wd1 = weekday_of(first);
  std::uint32_t by_day = days;
  for (unsigned n = 0; n < length; ++n) {
    if (days_from_end >> n & 1) by_day |= 1u << (length - n);
    if (workday_from_end >> n & 1) by_day |= 1u << nearest_workday(length - n, wd1, length);
  }
  if (workday_near != 0)
    for (unsigned d = 1; d <= length; ++d)
      if (workday_near >> d & 1) by_day |= 1u << nearest_workday(d, wd1, length);
  std::uint32_t nth = 0;
  for (std::uint64_t rest = nth_weekdays; rest != 0; rest &= rest - 1) {
    const auto bit = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned first_hit = (bit % 7 + 7 - wd1) % 7 + 1;
    const unsigned day =
        bit / 7 < 5 ? first_hit + bit / 7 * 7 : first_hit + (length - first_hit) / 7 * 7;
    if (day <= length) (nth_is_weekday ? nth : by_day) |= 1u << day;
  }
  std::uint32_t by_weekday = all_days;
  if (weekdays != 0x7f) {
    // The week's pattern, turned so that bit 1 is the first of the month, five times over.
    const std::uint64_t week = (std::uint64_t{weekdays} << 7 | weekdays) >> wd1 & 0x7f;
    const std::uint64_t five = week * 0x10204081ull;
    by_weekday = static_cast<std::uint32_t>(five << 1) | nth;
  }
  std::uint32_t found = either_day ? by_day | by_weekday : by_day & by_weekday;
  found &= static_cast<std::uint32_t>((std::uint64_t{2} << length) - 2);
  if (weeks != 0 && found != 0)
    for (unsigned d = 1; d <= length; ++d)
      if ((found >> d & 1) != 0 && (weeks >> iso_week(first + std::chrono::days{d - 1}) & 1) == 0)
        found &= ~(1u << d);
  return found;
}

void calendar_pattern::finish() {
  const auto tidy = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  tidy(years);
  tidy(fractions);
  year_kinds_ = 0;
  std::uint32_t seen = 0;
  for (int y = 2000; y < 2400 && seen != 0x1fffff; ++y) {
    const std::uint32_t bit = 1u << kind_of(year{y});
    if ((seen & bit) != 0) continue;
    seen |= bit;
    for (int m = next_bit(months, 1); m > 0 && (year_kinds_ & bit) == 0;
         m = next_bit(months, static_cast<unsigned>(m) + 1))
      if (days_of(year{y} / m) != 0) year_kinds_ |= bit;
  }
  if (hours == 0 || minutes == 0 || (seconds == 0 && fractions.empty())) year_kinds_ = 0;
}

int calendar_pattern::next_year(int from) const {
  from = std::max(from, first_year);
  if (years.empty()) return from <= year_limit ? from : 0;
  int best = 0;
  for (const auto& r : years) {
    int y = r.first;
    if (from > y) y += (from - y + r.step - 1) / r.step * r.step;
    if (y <= r.last && (best == 0 || y < best)) best = y;
  }
  return best <= year_limit ? best : 0;
}

std::optional<local_days> calendar_pattern::next_date(local_days from) const {
  const year_month_day start{from};
  int y = static_cast<int>(start.year());
  unsigned m = static_cast<unsigned>(start.month());
  unsigned d = static_cast<unsigned>(start.day());
  for (;;) {
    const int allowed = next_year(y);
    if (allowed == 0) return std::nullopt;
    if (allowed != y) {
      y = allowed;
      m = d = 1;
    }
    if ((year_kinds_ >> kind_of(year{y}) & 1) != 0) {
      for (int at = next_bit(months, m); at > 0; at = next_bit(months, m)) {
        if (static_cast<unsigned>(at) != m) d = 1;
        const int day = next_bit(days_of(year{y} / at), d);
        if (day > 0) return local_days{year{y} / at / day};
        m = static_cast<unsigned>(at) + 1;
        d = 1;
      }
    }
    ++y;
    m = d = 1;
  }
}

std::optional<std::uint32_t> calendar_pattern::next_second(std::uint32_t from_us) const {
  if (fractions.empty()) {
    const int s = next_bit(seconds, (from_us + 999'999) / 1'000'000);
    if (s < 0) return std::nullopt;
    return static_cast<std::uint32_t>(s) * 1'000'000;
  }
  std::optional<std::uint32_t> best;
  for (const auto& r : fractions) {
    std::uint32_t v = r.start;
    if (from_us > v) {
      if (r.step == 0) continue;
      v += (from_us - v + r.step - 1) / r.step * r.step;
    }
    if (v <= r.last && (!best || v < *best)) best = v;
  }
  return best;
}

std::optional<usec> calendar_pattern::next_time(usec from) const {
  const hh_mm_ss split{from};
  int h = static_cast<int>(split.hours().count());
  int m = static_cast<int>(split.minutes().count());
  auto s =
      static_cast<std::uint32_t>(duration_cast<usec>(split.seconds() + split.subseconds()).count());
  const int hour = next_bit(hours, static_cast<unsigned>(h));
  if (hour != h) m = 0, s = 0;
  h = hour;
  while (h >= 0) {
    const int minute = next_bit(minutes, static_cast<unsigned>(m));
    if (minute != m) s = 0;
    m = minute;
    if (m < 0) {
      h = next_bit(hours, static_cast<unsigned>(h) + 1);
      m = 0;
      s = 0;
      continue;
    }
    if (const auto second = next_second(s))
      return std::chrono::hours{h} + std::chrono::minutes{m} + usec{*second};
    ++m;
    s = fraction_carried();
  }
  return std::nullopt;
}

std::uint32_t calendar_pattern::fraction_carried() const {
  // systemd finds the next repetition of `0/20.5` beyond the minute, at 61.5, and goes on searching
  // half a second into the following minute, which loses its second 0. Done likewise, as timers
  // brought here must keep their times.
  std::uint32_t least = 0;
  for (const auto& r : fractions) {
    if (r.step == 0 || r.last != 59'999'999) continue;
    const std::uint32_t beyond = r.start + (60'000'000 - r.start + r.step - 1) / r.step * r.step;
    if (least == 0 || beyond < least) least = beyond;
  }
  return least % 1'000'000;
}

std::optional<local_time> calendar_pattern::next(local_time from) const {
  if (impossible()) return std::nullopt;
  const local_days today = floor<std::chrono::days>(from);
  auto date = next_date(today);
  if (!date) return std::nullopt;
  if (*date == today) {
    if (const auto time = next_time(from - today)) return *date + *time;
    date = next_date(today + std::chrono::days{1});
    if (!date) return std::nullopt;
  }
  const auto time = next_time(usec{0});
  if (!time) return std::nullopt; // a chain of seconds that holds none
  return *date + *time;
}

} // namespace lycosa::trigger
