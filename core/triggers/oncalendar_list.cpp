#include "core/triggers/oncalendar_list.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace lycosa::trigger::detail {
namespace {

constexpr std::int64_t second = oncalendar_second;

std::string padded(std::int64_t v, bool decimal, int width) {
  std::array<char, 32> buffer{};
  if (!decimal)
    std::snprintf(buffer.data(), buffer.size(), "%0*lld", width, static_cast<long long>(v));
  else if (v % second == 0)
    std::snprintf(buffer.data(), buffer.size(), "%02lld", static_cast<long long>(v / second));
  else
    std::snprintf(buffer.data(), buffer.size(), "%02lld.%06lld", static_cast<long long>(v / second),
                  static_cast<long long>(v % second));
  return buffer.data();
}

/// Steps of a repetition are printed without zeros in front.
std::string step_text(std::int64_t v, bool decimal) {
  if (!decimal) return std::to_string(v);
  const std::string text = padded(v, true, 2);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]) ? text.substr(1) : text;
}

} // namespace

result<std::int64_t> oncalendar_reader::number(bool decimal) {
  const std::size_t start = pos_;
  std::int64_t n = 0;
  while (is_digit(peek())) {
    n = n * 10 + (text_[pos_++] - '0');
    if (n > 999'999) return bad(start, "the number is too large");
  }
  if (pos_ == start) return bad("expected a number");
  if (!decimal) return n;
  n *= second;
  if (peek() != '.' || !is_digit(peek(1))) return n;
  ++pos_;
  for (std::int64_t unit = second / 10; is_digit(peek()); ++pos_, unit /= 10) {
    if (unit == 0) return bad("at most six digits of a second");
    n += (text_[pos_] - '0') * unit;
  }
  return n;
}

result<oncalendar_list> oncalendar_reader::list(bool decimal) {
  oncalendar_list c;
  if (peek() == '*') {
    ++pos_;
    return c;
  }
  for (;;) {
    oncalendar_item item;
    item.column = pos_;
    const auto start = number(decimal);
    if (!start) return tl::unexpected(start.error());
    item.start = *start;
    if (peek() == '.' && peek(1) == '.') {
      pos_ += 2;
      const auto stop = number(decimal);
      if (!stop) return tl::unexpected(stop.error());
      item.stop = *stop;
      item.repeat = decimal ? second : 1;
      if (item.start > item.stop) return bad(item.column, "the range runs backwards");
    }
    if (peek() == '/') {
      ++pos_;
      const std::size_t at = pos_;
      const auto repeat = number(decimal);
      if (!repeat) return tl::unexpected(repeat.error());
      if (*repeat == 0) return bad(at, "a repetition must be more than 0");
      item.repeat = *repeat;
    } else if (decimal && item.stop >= 0 && item.start != item.stop
               && item.start + item.repeat > item.stop) {
      return bad(item.column, "a range of less than a second needs a repetition");
    }
    if (item.stop >= 0 && item.repeat > 0) item.stop -= (item.stop - item.start) % item.repeat;
    if (item.stop == item.start) item.stop = -1, item.repeat = 0;
    c.items.push_back(item);
    if (peek() != ',') return c;
    ++pos_;
  }
}

std::string print(oncalendar_list c, bool decimal, int width) {
  if (c.items.empty()) return "*";
  std::sort(c.items.begin(), c.items.end(),
            [](const oncalendar_item& a, const oncalendar_item& b) { return a.key() < b.key(); });
  c.items.erase(std::unique(c.items.begin(), c.items.end(),
                            [](const oncalendar_item& a, const oncalendar_item& b) {
                              return a.key() == b.key();
                            }),
                c.items.end());
  std::string out;
  for (const auto& i : c.items) {
    if (!out.empty()) out += ',';
    out += padded(i.start, decimal, width);
    if (i.stop >= 0) out += ".." + padded(i.stop, decimal, width);
    const bool implied = i.stop >= 0 && i.repeat == (decimal ? second : 1);
    if (i.repeat > 0 && !implied) out += '/' + step_text(i.repeat, decimal);
  }
  return out;
}

} // namespace lycosa::trigger::detail
