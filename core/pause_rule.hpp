#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>

namespace lycosa {

/// pyspider's FAIL_PAUSE_NUM, PAUSE_TIME, UNPAUSE_CHECK_NUM.
struct pause_settings {
  int fail_num = 10; ///< failures in a row that pause; ≤ 0 = never pause
  usec pause_time = std::chrono::minutes{5};
  int check_num = 3; ///< failures while checking that pause again
};

/// Pauses a project whose crawls all fail, so that a site that is down or a broken script is not
/// hammered:
///
///   running ──fail_num failures in a row──▶ paused ──pause_time──▶ checking
///   checking ──one success──▶ running;  ──check_num failures──▶ paused
///   checking ──pause_time without either──▶ running
///
/// While checking, tasks are handed out as usual. Only reports of crawls count: messages, ticks
/// and dispatches do not, so they cannot crowd the failures out or keep it checking for ever.
/// Reading never changes the state; `advance` does, with time.
class pause_rule {
public:
  enum class state : std::uint8_t { running, paused, checking };

  explicit pause_rule(const pause_settings& settings = {}) : settings_(settings) {}

  /// Takes effect at once; switched off, a pause ends.
  void set(const pause_settings& settings);

  /// A crawl of this project was reported (retries count, superseded ones do not).
  void record(bool ok, mono_time now);

  /// Lets time pass. True if the state changed.
  bool advance(mono_time now);

  /// An operator says: go on. Forgets the failures.
  void resume();

  [[nodiscard]] state now() const noexcept { return state_; }
  [[nodiscard]] bool paused() const noexcept { return state_ == state::paused; }

  /// Failures in a row that led to the last pause.
  [[nodiscard]] int failures() const noexcept { return caused_by_; }

  /// When `advance` will change the state by time alone; none if it will not.
  [[nodiscard]] std::optional<mono_time> next_change() const;

private:
  void pause(mono_time now);

  pause_settings settings_;
  state state_ = state::running;
  int fails_ = 0; ///< in a row; while checking: since it began
  int caused_by_ = 0;
  mono_time since_{}; ///< paused, checking: when that began
};

} // namespace lycosa
