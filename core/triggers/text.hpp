#pragma once

#include "core/result.hpp"

#include <string>
#include <string_view>

namespace lycosa::trigger {

/// ASCII only, whatever the locale: other scripts' digits are not numbers here.
[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
[[nodiscard]] inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = lower(c);
  return out;
}
[[nodiscard]] inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\n'))
    text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

/// A refused expression: the field it is about and the column, counted from 1, where reading
/// stopped.
[[nodiscard]] inline tl::unexpected<error> fail_at(std::string_view field, std::size_t column,
                                                   std::string why) {
  return fail(errc::invalid_argument, std::string(field),
              "column " + std::to_string(column) + ": " + std::move(why));
}

/// A refused field as a whole.
[[nodiscard]] inline tl::unexpected<error> fail_field(std::string_view field, std::string why) {
  return fail(errc::invalid_argument, std::string(field), std::move(why));
}

} // namespace lycosa::trigger
