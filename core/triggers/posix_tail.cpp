#include "core/triggers/posix_tail.hpp"

#include <algorithm>

namespace lycosa::trigger {
namespace {

using namespace std::chrono;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool take_number(std::string_view& text, int& out) {
  if (text.empty() || !is_digit(text.front())) return false;
  out = 0;
  while (!text.empty() && is_digit(text.front()) && out < 100000) {
    out = out * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool take_name(std::string_view& text) {
  if (take(text, '<')) {
    const auto end = text.find('>');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
    return true;
  }
  std::size_t n = 0;
  while (n < text.size() && ((text[n] | 0x20) >= 'a' && (text[n] | 0x20) <= 'z'))
    ++n;
  text.remove_prefix(n);
  return n >= 3;
}

bool take_time(std::string_view& text, seconds& out) {
  const bool negative = take(text, '-');
  if (!negative) take(text, '+');
  int h = 0, m = 0, s = 0;
  if (!take_number(text, h)) return false;
  if (take(text, ':') && !take_number(text, m)) return false;
  if (take(text, ':') && !take_number(text, s)) return false;
  out = hours{h} + minutes{m} + seconds{s};
  if (negative) out = -out;
  return true;
}

} // namespace

bool posix_tail::parse_rule(std::string_view& text, rule& out) {
  if (take(text, 'M')) {
    out.how = kind::month_week_day;
    if (!take_number(text, out.month) || !take(text, '.') || !take_number(text, out.week)
        || !take(text, '.') || !take_number(text, out.day))
      return false;
    if (out.month < 1 || out.month > 12 || out.week < 1 || out.week > 5 || out.day > 6)
      return false;
  } else if (take(text, 'J')) {
    out.how = kind::julian;
    if (!take_number(text, out.day) || out.day < 1 || out.day > 365) return false;
  } else {
    out.how = kind::zero_based;
    if (!take_number(text, out.day) || out.day > 365) return false;
  }
  return !take(text, '/') || take_time(text, out.time);
}

std::optional<posix_tail> posix_tail::parse(std::string_view text) {
  posix_tail tail;
  seconds west{};
  if (!take_name(text) || !take_time(text, west)) return std::nullopt;
  tail.standard_ = -west; // POSIX counts west of Greenwich as positive
  tail.daylight_ = tail.standard_ + hours{1};
  if (text.empty()) return tail;
  if (!take_name(text)) return std::nullopt;
  if (!text.empty() && text.front() != ',') {
    if (!take_time(text, west)) return std::nullopt;
    tail.daylight_ = -west;
  }
  if (!take(text, ',') || !parse_rule(text, tail.start_) || !take(text, ',')
      || !parse_rule(text, tail.end_) || !text.empty())
    return std::nullopt;
  tail.has_changes_ = true;
  return tail;
}

sys_days posix_tail::rule::date(int year_number) const {
  const year y{year_number};
  switch (how) {
  case kind::month_week_day: {
    const std::chrono::month m{static_cast<unsigned>(month)};
    const weekday wd{static_cast<unsigned>(day)};
    if (week == 5) return sys_days{y / m / wd[last]};
    return sys_days{y / m / wd[static_cast<unsigned>(week)]};
  }
  case kind::julian: // day 60 is always 1 March
    return sys_days{y / January / 1} + days{day - 1 + (y.is_leap() && day >= 60 ? 1 : 0)};
  case kind::zero_based:
    return sys_days{y / January / 1} + days{day};
  }
  return {};
}

std::array<posix_tail::change, 2> posix_tail::changes(int year_number) const {
  std::array<change, 2> both{
      change{wall_time{start_.date(year_number) + start_.time - standard_}, daylight_},
      change{wall_time{end_.date(year_number) + end_.time - daylight_}, standard_}};
  if (both[1].at < both[0].at) std::swap(both[0], both[1]);
  return both;
}

} // namespace lycosa::trigger
