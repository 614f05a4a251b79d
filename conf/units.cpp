#include "conf/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace lycosa::conf {

namespace {

constexpr double longest_seconds = 100.0 * 366 * 86400;

struct unit {
  std::string_view name;
  std::int64_t factor;
};

// Longest first, so that formatting finds the shortest spelling.
constexpr std::array<unit, 6> time_units{{{"d", 86'400'000'000},
                                          {"h", 3'600'000'000},
                                          {"m", 60'000'000},
                                          {"s", 1'000'000},
                                          {"ms", 1'000},
                                          {"us", 1}}};
constexpr std::array<unit, 5> size_units{{{"TiB", std::int64_t{1} << 40},
                                          {"GiB", std::int64_t{1} << 30},
                                          {"MiB", std::int64_t{1} << 20},
                                          {"KiB", std::int64_t{1} << 10},
                                          {"B", 1}}};

/// Splits "12.5ms" into 12.5 and "ms"; false when there is no number in front.
bool split_number(std::string_view text, double& number, std::string_view& rest) {
  auto [end, ec] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (ec != std::errc{} || !std::isfinite(number)) return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ')
    rest.remove_prefix(1);
  return true;
}

template <std::size_t N>
std::string format_unit(std::int64_t value, const std::array<unit, N>& units,
                        std::string_view zero) {
  if (value == 0) return std::string{zero};
  for (const auto& u : units)
    if (value % u.factor == 0) return std::to_string(value / u.factor) + std::string{u.name};
  return std::to_string(value);
}

} // namespace

result<usec> seconds_to_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return fail(errc::invalid_argument, "", "a duration cannot be negative");
  if (seconds > longest_seconds) return fail(errc::invalid_argument, "", "longer than 100 years");
  return usec{std::llround(seconds * 1e6)};
}

result<usec> parse_duration(std::string_view text) {
  double number = 0;
  std::string_view rest;
  if (split_number(text, number, rest)) {
    if (rest.empty()) return seconds_to_duration(number);
    for (const auto& u : time_units)
      if (rest == u.name) return seconds_to_duration(number * static_cast<double>(u.factor) / 1e6);
  }
  return fail(errc::invalid_argument, "",
              "'" + std::string{text}
                  + "' is no duration; write 250ms, 5s, 10m, 24h, 7d or a number of seconds");
}

std::string format_duration(usec d) {
  return format_unit(d.count(), time_units, "0s");
}

result<bytes> parse_size(std::string_view text) {
  double number = 0;
  std::string_view rest;
  if (split_number(text, number, rest) && number >= 0) {
    for (const auto& u : size_units)
      if (rest == u.name || (rest.empty() && u.factor == 1)) {
        auto value = number * static_cast<double>(u.factor);
        if (value > 9.0e18) return fail(errc::invalid_argument, "", "larger than 8 EiB");
        return bytes{static_cast<std::uint64_t>(std::llround(value))};
      }
  }
  return fail(errc::invalid_argument, "",
              "'" + std::string{text}
                  + "' is no size; write 100B, 64KiB, 64MiB, 1GiB, 1TiB or a number of bytes");
}

std::string format_size(bytes b) {
  return format_unit(static_cast<std::int64_t>(b.count), size_units, "0B");
}

result<endpoint> parse_endpoint(std::string_view text) {
  auto bad = [&](std::string_view why) {
    return fail(errc::invalid_argument, "",
                "'" + std::string{text} + "' is no HOST:PORT: " + std::string{why});
  };
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("the port is missing");
  auto host = text.substr(0, colon);
  auto digits = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return bad("an IPv6 address needs brackets");
  if (host.empty()) return bad("the host is missing");
  std::uint16_t port = 0;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (ec != std::errc{} || end != digits.data() + digits.size() || digits.empty())
    return bad("the port is a number from 0 to 65535");
  return endpoint{std::string{host}, port};
}

} // namespace lycosa::conf
