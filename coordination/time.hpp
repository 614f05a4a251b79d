#pragma once

#include "core/types.hpp"

#include <chrono>

namespace lycosa::coordination {

/// CLOCK_MONOTONIC, the clock that the rest of a node reads too.
inline mono_time now() {
  return mono_time{
      std::chrono::duration_cast<usec>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// The same moment for a timer.
inline std::chrono::steady_clock::time_point on_steady_clock(mono_time at) {
  return std::chrono::steady_clock::time_point{at.time_since_epoch()};
}

} // namespace lycosa::coordination
