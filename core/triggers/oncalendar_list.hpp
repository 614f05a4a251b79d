#pragma once

#include "core/result.hpp"
#include "core/triggers/text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lycosa::trigger::detail {

inline constexpr std::int64_t oncalendar_second = 1'000'000;
inline constexpr std::string_view oncalendar_field = "expr";

/// One element of a list: start, start + repeat, … up to stop, or to the end of the field.
struct oncalendar_item {
  std::int64_t start = 0, stop = -1, repeat = 0;
  std::size_t column = 0;
  auto key() const { return std::tuple(start, stop, repeat); }
};

/// A list; none = `*`.
struct oncalendar_list {
  std::vector<oncalendar_item> items;
};

/// Reads a calendar event expression from left to right.
class oncalendar_reader {
public:
  explicit oncalendar_reader(std::string_view text) : text_(text) {}

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  [[nodiscard]] bool done() const { return pos_ >= text_.size(); }
  [[nodiscard]] std::size_t position() const { return pos_; }
  void move_to(std::size_t pos) { pos_ = pos; }
  void skip_blanks() {
    while (peek() == ' ')
      ++pos_;
  }
  [[nodiscard]] tl::unexpected<error> bad(std::string why) const { return bad(pos_, why); }
  [[nodiscard]] static tl::unexpected<error> bad(std::size_t at, std::string why) {
    return fail_at(oncalendar_field, at + 1, std::move(why));
  }

  /// A number; with `decimal`, seconds as microseconds.
  [[nodiscard]] result<std::int64_t> number(bool decimal);
  /// A list, or `*`.
  [[nodiscard]] result<oncalendar_list> list(bool decimal);

private:
  std::string_view text_;
  std::size_t pos_ = 0;
};

/// A list as systemd prints it: sorted, without repetitions, numbers padded to `width`.
[[nodiscard]] std::string print(oncalendar_list c, bool decimal = false, int width = 2);

} // namespace lycosa::trigger::detail
