#pragma once

#include "core/types.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace lycosa::trigger {

/// The rule at the end of a time-zone file: what holds for all years after the last transition the
/// file lists ("CET-1CEST,M3.5.0,M10.5.0/3"). Without it every summer after 2037, where most
/// files end, would be one hour off.
class posix_tail {
public:
  /// One change of the offset.
  struct change {
    wall_time at;
    std::chrono::seconds after; ///< offset from `at` on
  };

  /// Reads a POSIX TZ string. Empty when the text is not one.
  [[nodiscard]] static std::optional<posix_tail> parse(std::string_view text);

  /// True when the zone changes its offset twice a year.
  [[nodiscard]] bool has_changes() const { return has_changes_; }

  /// Offset outside daylight saving time, positive east of Greenwich.
  [[nodiscard]] std::chrono::seconds standard() const { return standard_; }

  /// Both changes of one calendar year, in order of time.
  [[nodiscard]] std::array<change, 2> changes(int year) const;

  friend bool operator==(const posix_tail&, const posix_tail&) = default;

private:
  enum class kind : std::uint8_t { month_week_day, julian, zero_based };
  struct rule {
    kind how = kind::month_week_day;
    int month = 0, week = 0, day = 0;
    std::chrono::seconds time{7200};
    [[nodiscard]] std::chrono::sys_days date(int year) const;
    friend bool operator==(const rule&, const rule&) = default;
  };
  static bool parse_rule(std::string_view& text, rule& out);

  std::chrono::seconds standard_{0};
  std::chrono::seconds daylight_{0};
  rule start_, end_;
  bool has_changes_ = false;
};

} // namespace lycosa::trigger
