#include "gateway/numbers.hpp"

#include <charconv>
#include <cmath>

namespace lycosa::gateway {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

} // namespace

std::optional<std::int64_t> parse_integer(std::string_view number) noexcept {
  std::int64_t value = 0;
  const auto* end = number.data() + number.size();
  const auto [at, ec] = std::from_chars(number.data(), end, value);
  if (ec != std::errc{} || at != end) return std::nullopt;
  return value;
}

std::string integer_reason(std::int64_t low, std::int64_t high) {
  return "must be an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

bool is_written_nonzero(std::string_view number) noexcept {
  const auto digits = number.substr(0, number.find_first_of("eE"));
  return digits.find_first_of("123456789") != std::string_view::npos;
}

std::optional<usec> parse_seconds(std::string_view number) noexcept {
  constexpr std::int64_t most = 1'000'000'000'000; // seconds
  const bool negative = !number.empty() && number.front() == '-';
  if (negative) number.remove_prefix(1);

  const auto exponent_at = number.find_first_of("eE");
  std::int64_t exponent = 0;
  if (exponent_at != std::string_view::npos) {
    auto text = number.substr(exponent_at + 1);
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto read = parse_integer(text);
    // An exponent beyond 64 bits: the number is as good as 0, or as infinite.
    exponent = read ? *read : (text.starts_with('-') ? INT32_MIN : INT32_MAX);
    if (exponent < INT32_MIN) exponent = INT32_MIN;
    if (exponent > INT32_MAX) exponent = INT32_MAX;
    number = number.substr(0, exponent_at);
  }
  const auto point = number.find('.');
  const auto whole_digits =
      static_cast<std::int64_t>(point == std::string_view::npos ? number.size() : point);

  // The digit at place p (0 = first) weighs 10^(whole_digits - 1 - p + exponent + 6) microseconds.
  std::int64_t weight = whole_digits - 1 + exponent + 6;
  std::int64_t value = 0;
  bool leading = true;
  for (const char c : number) {
    if (!is_digit(c)) continue; // the point
    const int digit = c - '0';
    if (leading && digit == 0) {
      --weight;
      continue;
    }
    leading = false;
    if (weight < 0) {
      if (weight == -1 && digit >= 5) ++value;
      break;
    }
    if (weight > 18) return std::nullopt;
    value = value * 10 + digit;
    --weight;
    if (value > most * 1'000'000) return std::nullopt;
  }
  for (; !leading && weight >= 0; --weight) {
    value *= 10;
    if (value > most * 1'000'000) return std::nullopt;
  }
  return usec{negative ? -value : value};
}

std::optional<double> parse_double(std::string_view number) noexcept {
  double value = 0;
  const auto* end = number.data() + number.size();
  const auto [at, ec] = std::from_chars(number.data(), end, value);
  if (ec != std::errc{} || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

void append_integer(std::string& to, std::int64_t value) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  to.append(text, end);
}

void append_unsigned(std::string& to, std::uint64_t value) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  to.append(text, end);
}

void append_double(std::string& to, double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  to.append(text, end);
}

void append_seconds(std::string& to, usec time) {
  auto count = time.count();
  if (count < 0) to += '-';
  // Unsigned, so that the most negative value has an opposite.
  const auto size =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  append_unsigned(to, size / 1'000'000);
  auto rest = size % 1'000'000;
  if (rest == 0) return;
  char decimals[7] = {'.'};
  int last = 0;
  for (int i = 6; i >= 1; --i) {
    decimals[i] = static_cast<char>('0' + rest % 10);
    if (last == 0 && rest % 10 != 0) last = i;
    rest /= 10;
  }
  to.append(decimals, static_cast<std::size_t>(last) + 1);
}

} // namespace lycosa::gateway
