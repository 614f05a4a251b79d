#include "cli/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <ostream>

namespace lycosa::cli {

namespace {

/// Characters of UTF-8 text; continuation bytes take no column.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

} // namespace

void table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto width = columns_of(columns_[i].title);
    for (const auto& row : rows_)
      width = std::max(width, columns_of(row[i]));
    widths.push_back(width);
  }
  auto line = [&](auto cell) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::string value = cell(i);
      std::string space(widths[i] - columns_of(value), ' ');
      text += columns_[i].right ? space + value : value + space;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  };
  line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_)
    line([&](std::size_t i) { return row[i]; });
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
      continue;
    }
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\x%02x", byte);
    out += buffer;
  }
  return out;
}

std::string grouped(std::uint64_t n) {
  auto text = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string time_text(double unix_seconds) {
  // The upper bound keeps the year at four digits.
  if (!(unix_seconds > 0) || unix_seconds > 253'402'300'799.0) return "-";
  auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (!::gmtime_r(&seconds, &parts)) return "-";
  char buffer[32];
  std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%SZ", &parts);
  return buffer;
}

std::string bytes_text(std::uint64_t n) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(n);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return buffer;
}

} // namespace lycosa::cli
