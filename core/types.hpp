#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>

namespace lycosa {

using usec = std::chrono::microseconds;

/// Calendar time: what clients send and see. May step when the system clock is set.
using wall_time = std::chrono::sys_time<usec>;

/// Tag for time that never steps: leases and rates are measured with it. A clock of its own, so
/// that the compiler refuses to mix it with `wall_time`.
struct mono_clock {
  using rep = usec::rep;
  using period = usec::period;
  using duration = usec;
  using time_point = std::chrono::time_point<mono_clock, usec>;
  static constexpr bool is_steady = true;
};
using mono_time = mono_clock::time_point;

/// Number a node's catalog gives to a project name; never reused within a data directory.
enum class project_id : std::uint32_t {};

/// Where a task lives for as long as it exists: its shard and its sequence number there.
/// Packed into 64 bits because the queue holds one per queued task.
class task_key {
public:
  static constexpr unsigned seq_bits = 48;

  constexpr task_key() = default;
  constexpr task_key(std::uint16_t shard, std::uint64_t seq)
      : value_((std::uint64_t{shard} << seq_bits) | (seq & ((std::uint64_t{1} << seq_bits) - 1))) {}
  static constexpr task_key from_value(std::uint64_t v) {
    task_key k;
    k.value_ = v;
    return k;
  }

  [[nodiscard]] constexpr std::uint16_t shard() const {
    return static_cast<std::uint16_t>(value_ >> seq_bits);
  }
  [[nodiscard]] constexpr std::uint64_t seq() const {
    return value_ & ((std::uint64_t{1} << seq_bits) - 1);
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

  friend constexpr auto operator<=>(task_key, task_key) = default;

private:
  std::uint64_t value_ = 0;
};

/// Both clocks read at one moment. Decisions take it as an argument and never read a clock.
struct instant {
  wall_time wall;
  mono_time mono;
};

} // namespace lycosa

template <>
struct std::hash<lycosa::task_key> {
  std::size_t operator()(lycosa::task_key k) const noexcept {
    // Fibonacci hashing: sequence numbers are dense, the identity would cluster.
    return static_cast<std::size_t>((k.value() ^ (k.value() >> 32)) * 0x9E3779B97F4A7C15ull);
  }
};
