#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <limits>

namespace lycosa {

/// Sums that stop at the ends of the range: clients may send any exetime, age or delay, and the
/// answer to "in 300,000 years" is "at the end of time", not an overflow.
[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  if (b > 0 && a > std::numeric_limits<std::int64_t>::max() - b)
    return std::numeric_limits<std::int64_t>::max();
  if (b < 0 && a < std::numeric_limits<std::int64_t>::min() - b)
    return std::numeric_limits<std::int64_t>::min();
  return a + b;
}

[[nodiscard]] constexpr wall_time saturating_add(wall_time t, usec d) noexcept {
  return wall_time{usec{saturating_add(t.time_since_epoch().count(), d.count())}};
}

[[nodiscard]] constexpr mono_time saturating_add(mono_time t, usec d) noexcept {
  return mono_time{usec{saturating_add(t.time_since_epoch().count(), d.count())}};
}

} // namespace lycosa
