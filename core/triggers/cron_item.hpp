#pragma once

#include "core/triggers/cron_fields.hpp"
#include "core/triggers/text.hpp"

#include <optional>
#include <string>

namespace lycosa::trigger::detail {

/// Bounds of a field as a dialect counts it.
struct field_bounds {
  int low = 0, high = 0;
};
[[nodiscard]] field_bounds bounds_of(cron_field f, dialect d);

/// Reads one element of a comma list from left to right.
class item_reader {
public:
  item_reader(cron_field field, std::string_view text, std::size_t first_column, dialect d)
      : field_(field), text_(text), first_column_(first_column), dialect_(d) {}

  [[nodiscard]] bool done() const { return pos_ == text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[pos_]; }
  [[nodiscard]] std::size_t position() const { return pos_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(pos_); }
  void move_to(std::size_t pos) { pos_ = pos; }
  bool take(char c) {
    if (peek() != c || done()) return false;
    ++pos_;
    return true;
  }
  /// Takes a word of letters, in lower case.
  std::string take_word();
  /// A number without regard to bounds.
  [[nodiscard]] result<int> number();
  /// A number or a name, within the field's bounds. `was_name` tells which.
  [[nodiscard]] result<int> value(bool& was_name);
  /// A weekday's name; `mon` = 0.
  [[nodiscard]] result<int> weekday_name();
  [[nodiscard]] result<void> finish() const;

  [[nodiscard]] tl::unexpected<error> bad(std::size_t at, std::string why) const {
    return fail_at(cron_field_names[static_cast<std::size_t>(field_)], first_column_ + at,
                   std::move(why));
  }
  [[nodiscard]] cron_field field() const { return field_; }
  [[nodiscard]] dialect which() const { return dialect_; }

private:
  cron_field field_;
  std::string_view text_;
  std::size_t first_column_;
  dialect dialect_;
  std::size_t pos_ = 0;
};

/// Reads what only days know: `last`, `3rd fri`, `L-3`, `15W`, `6#3`, … Returns whether the
/// element was one of these.
[[nodiscard]] result<bool> parse_day_special(item_reader& in, calendar_pattern& into);

} // namespace lycosa::trigger::detail
