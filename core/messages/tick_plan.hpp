#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace lycosa {

/// What is due of a project's ticks.
struct due_ticks {
  std::vector<std::int64_t> seconds; ///< Unix seconds, ascending
  std::uint64_t missed = 0;          ///< too old to be made up for
};

/// When `_on_cronjob` is sent: at every Unix second that `min_tick` divides, as pyspider does
/// (daily = 00:00 UTC). After a stall the ticks of the last `catch_up` are made up for one by one
/// and the rest is reported once; pyspider replayed them all. Nothing is made up for the time in
/// which the project did not run. A clock set back starts afresh from where it is now.
///
/// Finds the next tick by arithmetic: nobody looks every second.
class tick_plan {
public:
  explicit tick_plan(usec catch_up = std::chrono::minutes{1}) : catch_up_(catch_up) {}

  /// `min_tick` in whole seconds (fractions are dropped); below 1 s, or not running: no ticks.
  void set(bool running, usec min_tick, wall_time now) {
    const auto every = std::chrono::floor<std::chrono::seconds>(min_tick).count();
    const auto wanted = running && every > 0 ? every : 0;
    if (wanted == every_) return;
    if (every_ == 0) last_ = second_of(now);
    every_ = wanted;
  }

  /// The ticks after the last look up to `now`.
  [[nodiscard]] due_ticks take(wall_time now) {
    due_ticks due;
    if (every_ == 0) return due;
    const auto second = second_of(now);
    if (second <= last_) {
      if (second < last_ - tolerated) last_ = second;
      return due;
    }
    const auto first = (floor_div(last_, every_) + 1) * every_;
    last_ = second;
    if (first > second) return due;
    const auto window = std::chrono::floor<std::chrono::seconds>(catch_up_).count();
    const auto oldest = second - (window > every_ ? window : every_) + 1;
    auto from = first;
    if (from < oldest) {
      from = (floor_div(oldest - 1, every_) + 1) * every_;
      due.missed = static_cast<std::uint64_t>((from - first) / every_);
    }
    for (auto t = from; t <= second; t += every_)
      due.seconds.push_back(t);
    return due;
  }

  [[nodiscard]] std::optional<wall_time> next() const {
    if (every_ == 0) return std::nullopt;
    return wall_time{std::chrono::seconds{(floor_div(last_, every_) + 1) * every_}};
  }

private:
  /// A clock that is slewed by less than this does not repeat ticks.
  static constexpr std::int64_t tolerated = 5;

  static std::int64_t second_of(wall_time t) {
    return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
  }
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
  }

  usec catch_up_;
  std::int64_t every_ = 0; ///< seconds; 0 = no ticks
  std::int64_t last_ = 0;  ///< Unix second up to which ticks were taken
};

} // namespace lycosa
