#include "core/triggers/time_text.hpp"

#include "core/triggers/text.hpp"

#include <array>
#include <cstdio>
#include <limits>

namespace lycosa::trigger {
namespace {

using namespace std::chrono;

struct unit {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array<unit, 29> units{{
    {"us", 1},
    {"usec", 1},
    {"microsecond", 1},
    {"microseconds", 1},
    {"ms", 1000},
    {"msec", 1000},
    {"millisecond", 1000},
    {"milliseconds", 1000},
    {"s", 1000000},
    {"sec", 1000000},
    {"second", 1000000},
    {"seconds", 1000000},
    {"m", 60000000},
    {"min", 60000000},
    {"mins", 60000000},
    {"minute", 60000000},
    {"minutes", 60000000},
    {"h", 3600000000},
    {"hr", 3600000000},
    {"hrs", 3600000000},
    {"hour", 3600000000},
    {"hours", 3600000000},
    {"d", 86400000000},
    {"day", 86400000000},
    {"days", 86400000000},
    {"w", 604800000000},
    {"week", 604800000000},
    {"weeks", 604800000000},
    {"", 1000000},
}};

/// A decimal number times `scale`, cut below one; empty when there is none or it is too large.
std::optional<std::int64_t> take_scaled(std::string_view text, std::size_t& pos,
                                        std::int64_t scale) {
  const std::size_t start = pos;
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 4;
  std::int64_t whole = 0;
  while (pos < text.size() && is_digit(text[pos])) {
    if (whole > limit / scale / 10) return std::nullopt;
    whole = whole * 10 + (text[pos++] - '0');
  }
  std::int64_t value = whole * scale;
  std::size_t digits = pos - start;
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    std::int64_t part = scale, rest = 0, divisor = 1;
    while (pos < text.size() && is_digit(text[pos])) {
      if (divisor < 1'000'000) {
        rest = rest * 10 + (text[pos] - '0');
        divisor *= 10;
      }
      ++pos;
      ++digits;
    }
    value += part / divisor * rest + part % divisor * rest / divisor;
  }
  if (digits == 0) return std::nullopt;
  return value;
}

/// Reads exactly `width` digits.
bool take_digits(std::string_view text, std::size_t& pos, unsigned width, int& out) {
  if (text.size() < pos + width) return false;
  out = 0;
  for (unsigned i = 0; i < width; ++i) {
    if (!is_digit(text[pos + i])) return false;
    out = out * 10 + (text[pos + i] - '0');
  }
  pos += width;
  return true;
}

} // namespace

std::optional<usec> parse_seconds(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::size_t pos = 0;
  const auto value = take_scaled(text, pos, 1'000'000);
  if (!value || pos != text.size()) return std::nullopt;
  return usec{negative ? -*value : *value};
}

result<time_text> parse_time_text(std::string_view text, std::string_view field) {
  std::size_t pos = 0;
  const auto bad = [&](std::string why) { return fail_at(field, pos + 1, std::move(why)); };
  if (!text.empty() && text.front() == '@') {
    const auto s = parse_seconds(text.substr(1));
    if (!s || *s > usec{253402300799000000} || *s < usec{-62135596800000000})
      return fail_at(field, 2, "expected Unix seconds after '@'");
    const auto day = floor<days>(*s);
    return time_text{local_days{day}, *s - day, seconds{0}, true};
  }
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, sec = 0;
  if (!take_digits(text, pos, 4, y) || pos >= text.size() || text[pos] != '-')
    return bad("expected a date such as 2024-03-31");
  ++pos;
  if (!take_digits(text, pos, 2, mo) || pos >= text.size() || text[pos] != '-')
    return bad("expected a month of two digits");
  ++pos;
  if (!take_digits(text, pos, 2, d)) return bad("expected a day of two digits");
  const year_month_day date{year{y}, month{static_cast<unsigned>(mo)},
                            day{static_cast<unsigned>(d)}};
  if (!date.ok() || y == 0) return fail_at(field, 1, "there is no such date");
  time_text out;
  out.date = local_days{date};
  if (pos == text.size()) return out;
  if (text[pos] != 'T' && text[pos] != 't' && text[pos] != ' ')
    return bad("expected 'T' and a time of day");
  ++pos;
  out.has_time = true;
  if (!take_digits(text, pos, 2, h) || h > 23) return bad("expected an hour, 00 to 23");
  if (pos >= text.size() || text[pos] != ':') return bad("expected ':' and minutes");
  ++pos;
  if (!take_digits(text, pos, 2, mi) || mi > 59) return bad("expected minutes, 00 to 59");
  out.time_of_day = hours{h} + minutes{mi};
  if (pos < text.size() && text[pos] == ':') {
    ++pos;
    if (!take_digits(text, pos, 2, sec) || sec > 59) return bad("expected seconds, 00 to 59");
    out.time_of_day += seconds{sec};
    if (pos < text.size() && (text[pos] == '.' || text[pos] == ',')) {
      ++pos;
      std::int64_t scale = 100000;
      if (pos >= text.size() || !is_digit(text[pos])) return bad("expected digits after the point");
      for (; pos < text.size() && is_digit(text[pos]); ++pos, scale /= 10)
        out.time_of_day += usec{(text[pos] - '0') * scale};
    }
  }
  if (pos == text.size()) return out;
  if (text[pos] == 'Z' || text[pos] == 'z') {
    ++pos;
    out.offset = seconds{0};
  } else if (text[pos] == '+' || text[pos] == '-') {
    const int sign = text[pos++] == '-' ? -1 : 1;
    int oh = 0, om = 0, os = 0;
    if (!take_digits(text, pos, 2, oh) || oh > 23) return bad("expected an offset such as +02:00");
    const bool colon = pos < text.size() && text[pos] == ':';
    if (colon) ++pos;
    if (pos < text.size() || colon)
      if (!take_digits(text, pos, 2, om) || om > 59) return bad("expected minutes of the offset");
    if (colon && pos < text.size() && text[pos] == ':') {
      ++pos;
      if (!take_digits(text, pos, 2, os) || os > 59) return bad("expected seconds of the offset");
    }
    out.offset = sign * seconds{hours{oh} + minutes{om} + seconds{os}};
  }
  if (pos != text.size()) return bad("nothing may follow here");
  return out;
}

wall_time time_text::in(zone z) const {
  const local_time t = date + time_of_day;
  if (offset) return wall_time{t.time_since_epoch() - *offset};
  const auto found = z.find_instants(t);
  if (found.count > 0) return found.at[0];
  // Inside a gap: read with the offset that held before it.
  auto span = z.at(wall_time{t.time_since_epoch()} - offset_margin);
  for (;;) {
    const auto next = z.at(span.end);
    if (next.to_local(next.begin) > t) return span.to_wall(t);
    span = next;
  }
}

std::string offset_text(seconds offset) {
  const char sign = offset < seconds{0} ? '-' : '+';
  const auto s = offset < seconds{0} ? -offset.count() : offset.count();
  std::array<char, 32> buffer{};
  if (s % 60 != 0)
    std::snprintf(buffer.data(), buffer.size(), "%c%02d:%02d:%02d", sign,
                  static_cast<int>(s / 3600), static_cast<int>(s / 60 % 60),
                  static_cast<int>(s % 60));
  else
    std::snprintf(buffer.data(), buffer.size(), "%c%02d:%02d", sign, static_cast<int>(s / 3600),
                  static_cast<int>(s / 60 % 60));
  return buffer.data();
}

std::string to_iso(wall_time t, zone z) {
  const auto offset = z.at(t).offset;
  const local_time local{t.time_since_epoch() + offset};
  const auto day = floor<days>(local);
  const year_month_day date{day};
  const hh_mm_ss time{local - day};
  std::array<char, 64> buffer{};
  const int n = std::snprintf(
      buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()));
  std::string out(buffer.data(), static_cast<std::size_t>(n));
  if (const auto us = time.subseconds().count(); us != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%06d", static_cast<int>(us));
    out += buffer.data();
  }
  return out + offset_text(offset);
}

result<usec> parse_duration(std::string_view text, std::string_view field,
                            std::size_t first_column) {
  std::size_t pos = 0;
  const auto skip_blanks = [&] {
    while (pos < text.size() && text[pos] == ' ')
      ++pos;
  };
  const auto bad = [&](std::size_t at, std::string why) {
    return fail_at(field, first_column + at, std::move(why));
  };
  usec total{0};
  bool any = false;
  for (skip_blanks(); pos < text.size(); skip_blanks()) {
    const std::size_t number_at = pos;
    while (pos < text.size() && (is_digit(text[pos]) || text[pos] == '.'))
      ++pos;
    if (pos == number_at) return bad(pos, "expected a number");
    const std::size_t number_end = pos;
    skip_blanks();
    const std::size_t unit_at = pos;
    while (pos < text.size() && is_alpha(text[pos]))
      ++pos;
    const std::string name = lower(text.substr(unit_at, pos - unit_at));
    const unit* found = nullptr;
    for (const auto& u : units)
      if (u.name == name) found = &u;
    if (!found) return bad(unit_at, "unknown unit '" + name + "'; use us, ms, s, m, h, d or w");
    if (name.empty() && (any || pos != text.size())) return bad(unit_at, "expected a unit");
    std::size_t p = number_at;
    const auto value = take_scaled(text.substr(0, number_end), p, found->us);
    if (!value || p != number_end) return bad(number_at, "this is not a number in range");
    total += usec{*value};
    if (total > hours{24 * 366 * 1000}) return bad(number_at, "longer than a thousand years");
    any = true;
  }
  if (!any) return bad(0, "expected a duration such as 90s");
  return total;
}

std::string duration_text(usec d) {
  static constexpr std::array<unit, 7> parts{{{"w", 604800000000},
                                              {"d", 86400000000},
                                              {"h", 3600000000},
                                              {"m", 60000000},
                                              {"s", 1000000},
                                              {"ms", 1000},
                                              {"us", 1}}};
  for (const auto& p : parts)
    if (d.count() % p.us == 0 && d.count() != 0)
      return std::to_string(d.count() / p.us) + std::string(p.name);
  return "0s";
}

} // namespace lycosa::trigger
