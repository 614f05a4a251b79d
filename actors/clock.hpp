#pragma once

#include "core/types.hpp"

#include <memory>

namespace lycosa::actors {

/// The one door through which actors read the time. Decisions get `now` from here and pass it on
/// to core, so a test can run a day in a moment.
class clock {
public:
  virtual ~clock() = default;
  [[nodiscard]] virtual instant now() const = 0;
};

using clock_ptr = std::shared_ptr<const clock>;

/// The machine's clocks: CLOCK_REALTIME and CLOCK_MONOTONIC.
[[nodiscard]] clock_ptr make_system_clock();

/// A clock that moves only when told to. Both clocks move together; the wall clock can be set.
class manual_clock final : public clock {
public:
  explicit manual_clock(wall_time start) : now_{start, mono_time{usec{0}}} {}
  [[nodiscard]] instant now() const override { return now_; }
  void advance(usec by) {
    now_.wall += by;
    now_.mono += by;
  }
  void set_wall(wall_time to) { now_.wall = to; }

private:
  instant now_;
};

} // namespace lycosa::actors
