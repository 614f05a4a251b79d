#include "core/triggers/cron_fields.hpp"

#include "core/triggers/cron_item.hpp"

namespace lycosa::trigger {
namespace {

using detail::bounds_of;
using detail::item_reader;

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"mon", "tue", "wed", "thu",
                                                        "fri", "sat", "sun"};

/// Numbers of a dialect's weekdays to Monday = 0.
int monday_based(int value, dialect d) {
  switch (d) {
  case dialect::aps3:
    return value;
  case dialect::aps4:
  case dialect::vixie:
    return (value + 6) % 7;
  case dialect::quartz:
    return (value + 5) % 7;
  }
  return value;
}
int from_monday_based(int value, dialect d) {
  switch (d) {
  case dialect::aps3:
    return value;
  case dialect::aps4:
  case dialect::vixie:
    return (value + 1) % 7;
  case dialect::quartz:
    return (value + 1) % 7 + 1;
  }
  return value;
}

void add_value(calendar_pattern& p, cron_field f, int value, dialect d) {
  const auto v = static_cast<unsigned>(value);
  switch (f) {
  case cron_field::year:
    break;
  case cron_field::month:
    p.months = static_cast<std::uint16_t>(p.months | 1u << v);
    break;
  case cron_field::day:
    p.days |= 1u << v;
    break;
  case cron_field::week:
    p.weeks |= std::uint64_t{1} << v;
    break;
  case cron_field::day_of_week:
    p.weekdays = static_cast<std::uint8_t>(p.weekdays | 1u << monday_based(value, d));
    break;
  case cron_field::hour:
    p.hours |= 1u << v;
    break;
  case cron_field::minute:
    p.minutes |= std::uint64_t{1} << v;
    break;
  case cron_field::second:
    p.seconds |= std::uint64_t{1} << v;
    break;
  }
}

void add_range(calendar_pattern& p, cron_field f, int first, int last, int step, dialect d) {
  if (f == cron_field::year) {
    p.years.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last),
                       static_cast<std::uint16_t>(step)});
    return;
  }
  for (int v = first; v <= last; v += step)
    add_value(p, f, v, d);
}

void clear(calendar_pattern& p, cron_field f) {
  switch (f) {
  case cron_field::year:
    p.years.clear();
    break;
  case cron_field::month:
    p.months = 0;
    break;
  case cron_field::day:
    p.days = 0;
    break;
  case cron_field::week:
    p.weeks = 0;
    break;
  case cron_field::day_of_week:
    p.weekdays = 0;
    break;
  case cron_field::hour:
    p.hours = 0;
    break;
  case cron_field::minute:
    p.minutes = 0;
    break;
  case cron_field::second:
    p.seconds = 0;
    break;
  }
}

std::string quoted(int n) {
  return std::to_string(n);
}

/// Reads `/n`. The APScheduler dialects refuse a step beyond what it steps over.
result<int> read_step(item_reader& in, int room) {
  const std::size_t at = in.position();
  const auto step = in.number();
  if (!step) return step;
  if (*step == 0) return in.bad(at, "a step must be at least 1");
  const bool aps = in.which() == dialect::aps3 || in.which() == dialect::aps4;
  if (aps && *step > room)
    return in.bad(at, "the step " + quoted(*step) + " is larger than the range it divides, "
                          + quoted(room));
  if (in.which() == dialect::quartz) {
    const auto b = bounds_of(in.field(), in.which());
    if (in.field() != cron_field::year && *step > b.high)
      return in.bad(at, "the step " + quoted(*step) + " is larger than the field allows, "
                            + quoted(b.high));
  }
  return *step;
}

result<void> read_star(item_reader& in, calendar_pattern& p) {
  const dialect d = in.which();
  auto b = bounds_of(in.field(), d);
  // The APScheduler dialects count `*/n` from Monday, however they number single weekdays.
  const bool from_monday = in.field() == cron_field::day_of_week && d == dialect::aps4;
  if (from_monday) b = {0, 6};
  int step = 1;
  if (in.take('/')) {
    const auto s = read_step(in, b.high - b.low);
    if (!s) return tl::unexpected(s.error());
    step = *s;
  }
  add_range(p, in.field(), b.low, b.high, step, from_monday ? dialect::aps3 : d);
  return in.finish();
}

/// `a~b`, `a~`, `~b`, `~`: one value of the range, chosen once for ever by the seed.
result<void> read_random(item_reader& in, int low, std::uint64_t seed, calendar_pattern& p) {
  const std::size_t at = in.position();
  int high = bounds_of(in.field(), in.which()).high;
  if (!in.done()) {
    bool name = false;
    const auto v = in.value(name);
    if (!v) return tl::unexpected(v.error());
    high = *v;
  }
  if (low > high) return in.bad(at, "the range runs backwards");
  const auto size = static_cast<std::uint64_t>(high - low + 1);
  // By what is asked for and not by where it stands, so that the printed form chooses the same.
  const auto index = static_cast<std::uint64_t>(in.field()) << 16
                     | static_cast<std::uint64_t>(low) << 8 | static_cast<std::uint64_t>(high);
  const int chosen = low + static_cast<int>(mix(seed, index) % size);
  add_value(p, in.field(), chosen, in.which());
  return in.finish();
}

result<void> read_range(item_reader& in, std::uint64_t seed, calendar_pattern& p) {
  const dialect d = in.which();
  const cron_field f = in.field();
  const bool aps = d == dialect::aps3 || d == dialect::aps4;
  const auto b = bounds_of(f, d);
  const bool sunday_twice = f == cron_field::day_of_week && b.high == 7 && b.low == 0;
  const bool wraps = (d == dialect::quartz && f != cron_field::year)
                     || (d == dialect::aps4 && f == cron_field::day_of_week);
  bool first_is_name = false, last_is_name = false;
  const auto first = in.value(first_is_name);
  if (!first) return tl::unexpected(first.error());
  if (d == dialect::vixie && in.take('~')) return read_random(in, *first, seed, p);
  int low = *first, high = *first;
  bool range = false;
  const std::size_t range_at = in.position();
  if (in.take('-')) {
    range = true;
    const std::size_t at = in.position();
    const auto last = in.value(last_is_name);
    if (!last) return tl::unexpected(last.error());
    if (aps && first_is_name != last_is_name)
      return in.bad(at, "a range is of two names or of two numbers");
    high = *last;
    if (sunday_twice && d == dialect::aps4 && low == 7 && high != 7) low = 0;
    if (sunday_twice && d == dialect::vixie && high == 0 && low > 0) high = 7;
    if (low > high) {
      if (!wraps) return in.bad(range_at, "the range runs backwards");
      high += f == cron_field::day_of_week ? 7 : b.high - b.low + 1;
    }
  }
  int step = 1;
  if (in.peek() == '/') {
    if (aps && first_is_name) return in.bad(in.position(), "names take no step");
    if (!range && d == dialect::vixie)
      return in.bad(in.position(), "a step needs a range or '*' before it");
    in.take('/');
    if (!range) high = sunday_twice && low < 7 ? 6 : b.high;
    const auto s = read_step(in, high - low);
    if (!s) return tl::unexpected(s.error());
    step = *s;
  }
  const int span = f == cron_field::day_of_week ? 7 : b.high - b.low + 1;
  if (f == cron_field::year) {
    add_range(p, f, low, high, step, d);
  } else {
    for (int v = low; v <= high; v += step)
      add_value(p, f, v > b.high ? v - span : v, d);
  }
  return in.finish();
}

result<void> read_item(item_reader& in, std::uint64_t seed, calendar_pattern& p) {
  if (in.done()) return in.bad(0, "an element is missing");
  const auto special = detail::parse_day_special(in, p);
  if (!special) return tl::unexpected(special.error());
  if (*special) return in.finish();
  if (in.take('*')) return read_star(in, p);
  if (in.which() == dialect::quartz && in.peek() == '/') return read_star(in, p);
  if (in.which() == dialect::vixie && in.take('~'))
    return read_random(in, bounds_of(in.field(), in.which()).low, seed, p);
  return read_range(in, seed, p);
}

} // namespace

namespace detail {

field_bounds bounds_of(cron_field f, dialect d) {
  switch (f) {
  case cron_field::year:
    return {1970, d == dialect::quartz ? 2099 : 9999};
  case cron_field::month:
    return {1, 12};
  case cron_field::day:
    return {1, 31};
  case cron_field::week:
    return {1, 53};
  case cron_field::day_of_week:
    if (d == dialect::aps3) return {0, 6};
    return d == dialect::quartz ? field_bounds{1, 7} : field_bounds{0, 7};
  case cron_field::hour:
    return {0, 23};
  case cron_field::minute:
  case cron_field::second:
    return {0, 59};
  }
  return {};
}

std::string item_reader::take_word() {
  const std::size_t start = pos_;
  while (!done() && is_alpha(text_[pos_]))
    ++pos_;
  return lower(text_.substr(start, pos_ - start));
}

result<int> item_reader::number() {
  const std::size_t start = pos_;
  int n = 0;
  while (!done() && is_digit(text_[pos_])) {
    if (n > 99'999) return bad(start, "the number is too large");
    n = n * 10 + (text_[pos_++] - '0');
  }
  if (pos_ == start) return bad(start, "expected a number");
  return n;
}

result<int> item_reader::weekday_name() {
  const std::size_t start = pos_;
  const std::string word = take_word();
  for (std::size_t i = 0; i < weekday_names.size(); ++i)
    if (weekday_names[i] == word) return static_cast<int>(i);
  return bad(start, "expected a weekday's name, mon to sun");
}

result<int> item_reader::value(bool& was_name) {
  const std::size_t start = pos_;
  was_name = is_alpha(peek()) && (field_ == cron_field::month || field_ == cron_field::day_of_week);
  if (was_name && field_ == cron_field::day_of_week) {
    const auto wd = weekday_name();
    if (!wd) return wd;
    return from_monday_based(*wd, dialect_);
  }
  if (was_name) {
    const std::string word = take_word();
    for (std::size_t i = 0; i < month_names.size(); ++i)
      if (month_names[i] == word) return static_cast<int>(i) + 1;
    return bad(start, "expected a month's name, jan to dec");
  }
  if (!is_digit(peek())) return bad(start, "expected a number");
  const auto n = number();
  if (!n) return n;
  const auto b = bounds_of(field_, dialect_);
  if (*n < b.low) return bad(start, quoted(*n) + " is below the lowest value, " + quoted(b.low));
  if (*n > b.high) return bad(start, quoted(*n) + " is above the highest value, " + quoted(b.high));
  return n;
}

result<void> item_reader::finish() const {
  if (done()) return {};
  return bad(pos_, "nothing may follow here");
}

} // namespace detail

std::string_view to_string(dialect d) noexcept {
  switch (d) {
  case dialect::aps3:
    return "aps3";
  case dialect::aps4:
    return "aps4";
  case dialect::vixie:
    return "vixie";
  case dialect::quartz:
    return "quartz";
  }
  return "";
}

result<dialect> parse_dialect(std::string_view text) {
  for (auto d : {dialect::aps3, dialect::aps4, dialect::vixie, dialect::quartz})
    if (to_string(d) == text) return d;
  return fail_field("dialect",
                    "expected aps3, aps4, vixie or quartz, not '" + std::string(text) + "'");
}

std::uint64_t mix(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

result<void> parse_cron_field(cron_field field, std::string_view text, dialect d,
                              std::uint64_t seed, std::size_t first_column,
                              calendar_pattern& into) {
  const bool aps = d == dialect::aps3 || d == dialect::aps4;
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_blank(text[begin]))
    ++begin;
  while (end > begin && is_blank(text[end - 1]))
    --end;
  const auto whole = text.substr(begin, end - begin);
  const bool day_field = field == cron_field::day || field == cron_field::day_of_week;
  if (d == dialect::quartz && whole == "?") {
    if (day_field) return {}; // "no specific value": the other field decides
    return fail_at(cron_field_names[static_cast<std::size_t>(field)], first_column + begin,
                   "'?' is for day and day_of_week only");
  }
  if (whole == "*") return {};
  clear(into, field);
  std::size_t at = begin;
  for (;;) {
    std::size_t comma = text.find(',', at);
    if (comma == std::string_view::npos || comma > end) comma = end;
    std::size_t a = at, b = comma;
    if (aps) { // blanks around commas are allowed here alone
      while (a < b && is_blank(text[a]))
        ++a;
      while (b > a && is_blank(text[b - 1]))
        --b;
    }
    item_reader in(field, text.substr(a, b - a), first_column + a, d);
    if (const auto read = read_item(in, seed, into); !read) return read;
    if (comma == end) return {};
    at = comma + 1;
  }
}

} // namespace lycosa::trigger
