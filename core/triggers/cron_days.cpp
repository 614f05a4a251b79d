#include "core/triggers/cron_item.hpp"

namespace lycosa::trigger::detail {
namespace {

constexpr std::array<std::string_view, 6> ordinals{"1st", "2nd", "3rd", "4th", "5th", "last"};

/// `last`, `last fri`, `3rd fri`.
result<bool> parse_aps_day(item_reader& in, calendar_pattern& into) {
  const std::string text = lower(in.rest());
  for (std::size_t n = 0; n < ordinals.size(); ++n) {
    if (text.compare(0, ordinals[n].size(), ordinals[n]) != 0) continue;
    std::size_t pos = ordinals[n].size();
    if (pos == text.size() && n == 5) {
      in.move_to(in.position() + pos);
      into.days_from_end |= 1;
      return true;
    }
    if (pos < text.size() && text[pos] != ' ') continue;
    while (pos < text.size() && text[pos] == ' ')
      ++pos;
    in.move_to(in.position() + pos);
    const auto wd = in.weekday_name();
    if (!wd) return tl::unexpected(wd.error());
    into.nth_weekdays |= std::uint64_t{1} << (n * 7 + static_cast<unsigned>(*wd));
    return true;
  }
  return false;
}

/// `L`, `L-3`, `LW`, `L-3W`, `15W`.
result<bool> parse_quartz_day(item_reader& in, calendar_pattern& into) {
  const std::size_t start = in.position();
  if (in.take('L') || in.take('l')) {
    unsigned back = 0;
    if (in.take('-')) {
      const std::size_t at = in.position();
      const auto n = in.number();
      if (!n) return tl::unexpected(n.error());
      if (*n > 30) return in.bad(at, "at most 30 days before the last of the month");
      back = static_cast<unsigned>(*n);
    }
    (in.take('W') || in.take('w') ? into.workday_from_end : into.days_from_end) |= 1u << back;
    return true;
  }
  if (!is_digit(in.peek())) return false;
  const auto n = in.number();
  if (n && (in.take('W') || in.take('w'))) {
    if (*n < 1 || *n > 31) return in.bad(start, "a day of the month is 1 to 31");
    into.workday_near |= 1u << *n;
    return true;
  }
  in.move_to(start);
  return false;
}

/// `6L`, `friL`, `6#3`, `fri#3`, and `L` alone, which is Saturday.
result<bool> parse_quartz_weekday(item_reader& in, calendar_pattern& into) {
  const std::size_t start = in.position();
  const std::string text = lower(in.rest());
  if (text == "l") {
    in.move_to(start + 1);
    into.weekdays |= 1u << 5;
    return true;
  }
  int wd = -1;
  std::size_t length = 0;
  if (is_digit(in.peek())) {
    const auto n = in.number();
    if (n && *n >= 1 && *n <= 7) wd = (*n + 5) % 7;
    length = in.position() - start;
  } else if (text.size() > 3) {
    item_reader name(in.field(), std::string_view(text).substr(0, 3), 1, in.which());
    if (const auto n = name.weekday_name()) wd = *n;
    length = 3;
  }
  const char mark = length < text.size() ? text[length] : '\0';
  in.move_to(start);
  if (mark != '#' && mark != 'l') return false;
  if (wd < 0) return in.bad(start, "expected a weekday, 1 (Sunday) to 7 or its name");
  in.move_to(start + length + 1);
  unsigned nth = 6;
  if (mark == '#') {
    const std::size_t at = in.position();
    const auto n = in.number();
    if (!n) return tl::unexpected(n.error());
    if (*n < 1 || *n > 5) return in.bad(at, "a month has a first to a fifth weekday");
    nth = static_cast<unsigned>(*n);
  }
  into.nth_is_weekday = true;
  into.nth_weekdays |= std::uint64_t{1} << ((nth - 1) * 7 + static_cast<unsigned>(wd));
  return true;
}

} // namespace

result<bool> parse_day_special(item_reader& in, calendar_pattern& into) {
  const bool quartz = in.which() == dialect::quartz;
  if (in.field() == cron_field::day) {
    if (quartz) return parse_quartz_day(in, into);
    if (in.which() != dialect::vixie) return parse_aps_day(in, into);
  }
  if (in.field() == cron_field::day_of_week && quartz) return parse_quartz_weekday(in, into);
  return false;
}

} // namespace lycosa::trigger::detail
