#include "core/triggers/oncalendar.hpp"

#include "core/triggers/oncalendar_list.hpp"
#include "core/triggers/text.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace lycosa::trigger {
namespace {

using namespace detail;

constexpr std::int64_t second = oncalendar_second;
constexpr std::string_view field_name = oncalendar_field;

struct shorthand {
  std::string_view name, meaning;
};
constexpr std::array<shorthand, 13> shorthands{{
    {"minutely", "*-*-* *:*:00"},
    {"hourly", "*-*-* *:00:00"},
    {"daily", "*-*-* 00:00:00"},
    {"weekly", "Mon *-*-* 00:00:00"},
    {"monthly", "*-*-01 00:00:00"},
    {"quarterly", "*-01,04,07,10-01 00:00:00"},
    {"yearly", "*-01-01 00:00:00"},
    {"annually", "*-01-01 00:00:00"},
    {"anually", "*-01-01 00:00:00"},
    {"biannually", "*-01,07-01 00:00:00"},
    {"bi-annually", "*-01,07-01 00:00:00"},
    {"semiannually", "*-01,07-01 00:00:00"},
    {"semi-annually", "*-01,07-01 00:00:00"},
}};

constexpr std::array<std::string_view, 7> long_names{"monday", "tuesday",  "wednesday", "thursday",
                                                     "friday", "saturday", "sunday"};
constexpr std::array<std::string_view, 7> short_names{"Mon", "Tue", "Wed", "Thu",
                                                      "Fri", "Sat", "Sun"};

result<void> check(const oncalendar_list& c, std::string_view what, std::int64_t low,
                   std::int64_t high, bool from_end = false) {
  if (from_end) high -= 3; // every month has a 28th day from its end
  const auto outside = [&](std::int64_t v) { return v < low || v > high; };
  for (const auto& i : c.items) {
    const bool fits = i.stop >= 0
                          ? i.start + i.repeat <= i.stop
                          : (from_end ? i.start - i.repeat >= low : i.start + i.repeat <= high);
    if (outside(i.start) || (i.stop >= 0 && outside(i.stop)) || i.repeat > high - low
        || (i.repeat > 0 && !fits))
      return oncalendar_reader::bad(i.column, "out of range for the " + std::string(what));
  }
  return {};
}

template <class Bits>
Bits bits_of(const oncalendar_list& c, std::int64_t high, std::int64_t unit = 1) {
  Bits bits = 0;
  for (const auto& i : c.items) {
    const std::int64_t last = i.stop >= 0 ? i.stop : i.repeat > 0 ? high : i.start;
    for (std::int64_t v = i.start; v <= last; v += std::max<std::int64_t>(i.repeat, 1))
      bits |= static_cast<Bits>(Bits{1} << (v / unit));
  }
  return bits;
}

/// Weekdays at the start of the expression. Returns 0 when there are none.
result<std::uint8_t> parse_weekdays(oncalendar_reader& in) {
  unsigned bits = 0;
  int range_from = -1;
  for (bool first = true;; first = false) {
    const std::size_t start = in.position();
    std::string word;
    while (is_alpha(in.peek(word.size())))
      word += lower(in.peek(word.size()));
    int day = -1;
    for (std::size_t i = 0; i < long_names.size(); ++i)
      if (word == long_names[i] || word == long_names[i].substr(0, 3)) day = static_cast<int>(i);
    if (day < 0) {
      if (first && word.empty()) return std::uint8_t{0};
      return oncalendar_reader::bad(start, word.empty()
                                               ? "expected a weekday"
                                               : "'" + word + "' is no weekday and no such name");
    }
    if (range_from > day)
      return oncalendar_reader::bad(start, "the range of weekdays runs backwards");
    for (int d = range_from >= 0 ? range_from : day; d <= day; ++d)
      bits |= 1u << d;
    in.move_to(start + word.size());
    const bool dash = in.peek() == '-';
    if (dash || (in.peek() == '.' && in.peek(1) == '.')) {
      if (range_from >= 0) return in.bad("a range of three weekdays");
      range_from = day;
      in.move_to(in.position() + (dash ? 1 : 2));
    } else if (in.peek() == ',') {
      range_from = -1;
      in.move_to(in.position() + 1);
      if (in.done() || in.peek() == ' ') { // a comma at the end is harmless
        in.skip_blanks();
        return static_cast<std::uint8_t>(bits);
      }
    } else if (in.done() || in.peek() == ' ') {
      in.skip_blanks();
      return static_cast<std::uint8_t>(bits);
    } else {
      return in.bad("expected ',', '..' or a blank after a weekday");
    }
  }
}

struct parts {
  std::uint8_t weekdays = 0;
  oncalendar_list year, month, day, hour, minute, second;
  bool from_end = false;
};

/// Reads `month-day` or `year-month-day` when there is one.
result<void> parse_date(oncalendar_reader& in, parts& p) {
  if (in.done()) return {};
  const std::size_t start = in.position();
  const auto first = in.list(false);
  if (!first) return tl::unexpected(first.error());
  if (in.done() || in.peek() == ':') { // it was a time
    in.move_to(start);
    return {};
  }
  if (in.peek() != '-' && in.peek() != '~') return in.bad("expected '-', '~' or ':'");
  p.from_end = in.peek() == '~';
  in.move_to(in.position() + 1);
  const auto middle = in.list(false);
  if (!middle) return tl::unexpected(middle.error());
  if (in.done() || in.peek() == ' ') {
    p.month = *first;
    p.day = *middle;
    in.skip_blanks();
    return {};
  }
  if (p.from_end || (in.peek() != '-' && in.peek() != '~'))
    return in.bad("expected a blank or the day");
  p.from_end = in.peek() == '~';
  in.move_to(in.position() + 1);
  const auto third = in.list(false);
  if (!third) return tl::unexpected(third.error());
  if (!in.done() && in.peek() != ' ') return in.bad("expected a blank after the date");
  in.skip_blanks();
  p.year = *first;
  p.month = *middle;
  p.day = *third;
  return {};
}

result<void> parse_time(oncalendar_reader& in, parts& p) {
  const auto zero = [&](oncalendar_list& c) { c.items.push_back({0, -1, 0, in.position()}); };
  if (in.done()) {
    zero(p.hour);
    zero(p.minute);
    zero(p.second);
    return {};
  }
  auto read = in.list(false);
  if (!read) return tl::unexpected(read.error());
  p.hour = std::move(*read);
  if (in.peek() != ':') return in.bad("expected ':' and minutes");
  in.move_to(in.position() + 1);
  read = in.list(false);
  if (!read) return tl::unexpected(read.error());
  p.minute = std::move(*read);
  if (in.done()) {
    zero(p.second);
    return {};
  }
  if (in.peek() != ':') return in.bad("expected ':' and seconds");
  in.move_to(in.position() + 1);
  read = in.list(true);
  if (!read) return tl::unexpected(read.error());
  p.second = std::move(*read);
  if (!in.done()) return in.bad("nothing may follow the time but a time zone that exists");
  return {};
}

result<void> check_all(const parts& p) {
  for (auto r : {check(p.year, "year", 1970, 2199), check(p.month, "month", 1, 12),
                 check(p.day, "day", 1, 31, p.from_end), check(p.hour, "hour", 0, 23),
                 check(p.minute, "minute", 0, 59), check(p.second, "second", 0, 60 * second - 1)})
    if (!r) return r;
  return {};
}

calendar_pattern to_pattern(const parts& p) {
  calendar_pattern out;
  out.year_limit = 2199;
  if (p.weekdays != 0) out.weekdays = p.weekdays;
  for (const auto& i : p.year.items) {
    const auto last = i.stop >= 0 ? i.stop : i.repeat > 0 ? 2199 : i.start;
    out.years.push_back({static_cast<std::uint16_t>(i.start), static_cast<std::uint16_t>(last),
                         static_cast<std::uint16_t>(std::max<std::int64_t>(i.repeat, 1))});
  }
  if (!p.month.items.empty()) out.months = bits_of<std::uint16_t>(p.month, 12);
  if (!p.day.items.empty() && !p.from_end) out.days = bits_of<std::uint32_t>(p.day, 31);
  if (!p.day.items.empty() && p.from_end) {
    out.days = 0;
    for (const auto& i : p.day.items) {
      // Repetition goes on towards the end of the month: the numbers count down.
      const std::int64_t first = i.stop >= 0 ? i.stop : i.start;
      const std::int64_t last = i.stop >= 0 ? i.start : i.repeat > 0 ? 1 : i.start;
      for (std::int64_t v = first; v >= last; v -= std::max<std::int64_t>(i.repeat, 1))
        out.days_from_end |= 1u << (v - 1);
    }
  }
  if (!p.hour.items.empty()) out.hours = bits_of<std::uint32_t>(p.hour, 23);
  if (!p.minute.items.empty()) out.minutes = bits_of<std::uint64_t>(p.minute, 59);
  if (!p.second.items.empty()) {
    const bool whole = std::all_of(p.second.items.begin(), p.second.items.end(), [](auto& i) {
      return i.start % second == 0 && i.repeat % second == 0;
    });
    if (whole) {
      out.seconds = 0;
      for (const auto& i : p.second.items) {
        const std::int64_t last = i.stop >= 0 ? i.stop : i.repeat > 0 ? 60 * second - 1 : i.start;
        for (std::int64_t v = i.start; v <= last; v += std::max<std::int64_t>(i.repeat, second))
          out.seconds |= std::uint64_t{1} << (v / second);
      }
    } else {
      for (const auto& i : p.second.items) {
        const std::int64_t last = i.stop >= 0 ? i.stop : i.repeat > 0 ? 60 * second - 1 : i.start;
        out.fractions.push_back({static_cast<std::uint32_t>(i.start),
                                 static_cast<std::uint32_t>(last),
                                 static_cast<std::uint32_t>(i.repeat)});
      }
    }
  }
  out.finish();
  return out;
}

std::string weekday_text(std::uint8_t bits) {
  std::string out;
  for (unsigned d = 0; d < 7; ++d) {
    if ((bits >> d & 1) == 0) continue;
    unsigned last = d;
    while (last < 6 && (bits >> (last + 1) & 1) != 0)
      ++last;
    if (!out.empty()) out += ',';
    out += short_names[d];
    if (last >= d + 2) {
      out += ".." + std::string(short_names[last]);
      d = last;
    }
  }
  return out;
}

} // namespace

result<oncalendar> parse_oncalendar(std::string_view text) {
  oncalendar out;
  std::size_t before = 0;
  while (before < text.size() && is_blank(text[before]))
    ++before;
  std::string_view body = trim(text);
  if (body.empty()) return fail_at(field_name, 1, "the expression is empty");
  const std::string lead(before, ' '); // keeps columns those of the text given
  if (const auto blank = body.rfind(' '); blank != std::string_view::npos) {
    const auto word = body.substr(blank + 1);
    if (is_alpha(word.front())) {
      if (const auto z = zone::find(lower(word) == "utc" ? "UTC" : word)) {
        out.tz = *z;
        body = trim(body.substr(0, blank));
      } else if (word.find('/') != std::string_view::npos) {
        return fail_at(field_name, before + blank + 2,
                       "unknown time zone '" + std::string(word) + "'");
      }
    }
  }
  const std::string zone_text = out.tz ? " " + std::string(out.tz->name()) : "";
  if (body.front() == '@') {
    const auto t = parse_time_text(body, field_name);
    if (!t) return tl::unexpected(t.error());
    out.at = t->in(zone{});
    out.normalized = std::string(body);
    return out;
  }
  std::string expanded(body);
  for (const auto& s : shorthands)
    if (lower(body) == s.name) expanded = s.meaning;
  if (expanded == body) expanded.insert(0, lead);
  oncalendar_reader in(expanded);
  in.skip_blanks();
  parts p;
  const auto weekdays = parse_weekdays(in);
  if (!weekdays) return tl::unexpected(weekdays.error());
  p.weekdays = *weekdays == 0x7f ? std::uint8_t{0} : *weekdays;
  if (const auto r = parse_date(in, p); !r) return tl::unexpected(r.error());
  if (const auto r = parse_time(in, p); !r) return tl::unexpected(r.error());
  for (auto& y : p.year.items) { // two digits are years of this and the last century
    const auto full = [](std::int64_t v) { return v < 70 ? v + 2000 : v < 100 ? v + 1900 : v; };
    y.start = full(y.start);
    if (y.stop >= 0) y.stop = full(y.stop);
  }
  if (p.day.items.empty()) p.from_end = false;
  if (const auto r = check_all(p); !r) return tl::unexpected(r.error());
  out.pattern = to_pattern(p);
  out.normalized = (p.weekdays != 0 ? weekday_text(p.weekdays) + ' ' : std::string{})
                   + print(p.year, false, 4) + '-' + print(p.month) + (p.from_end ? '~' : '-')
                   + print(p.day) + ' ' + print(p.hour) + ':' + print(p.minute) + ':'
                   + print(p.second, true) + zone_text;
  return out;
}

} // namespace lycosa::trigger
