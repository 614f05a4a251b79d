#pragma once

#include "core/types.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lycosa::bridges {

/// Pauses between attempts: doubling from `first` to `longest`, each shortened by up to a half at
/// random, so that many nodes do not come back at the same moment.
class backoff {
public:
  explicit backoff(std::uint64_t seed, usec first = std::chrono::milliseconds{100},
                   usec longest = std::chrono::seconds{10})
      : random_(seed | 1), first_(first), longest_(longest) {}

  [[nodiscard]] usec next() {
    const auto whole = std::min(longest_, first_ * (std::int64_t{1} << std::min(failures_, 20)));
    ++failures_;
    // xorshift64 (Marsaglia 2003): evenness is all that matters here.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const auto half = whole.count() / 2;
    return usec{whole.count() - (half > 0 ? static_cast<std::int64_t>(random_ % half) : 0)};
  }

  void succeeded() { failures_ = 0; }
  [[nodiscard]] int failures() const { return failures_; }

private:
  std::uint64_t random_;
  usec first_, longest_;
  int failures_ = 0;
};

/// A connection that lasted a while was a success; one that a server ends at once, again and again,
/// is not, and must not be tried ten times a second.
class steady_run {
public:
  explicit steady_run(backoff& pause) : pause_(pause) {}
  steady_run(const steady_run&) = delete;
  steady_run& operator=(const steady_run&) = delete;
  ~steady_run() {
    if (std::chrono::steady_clock::now() - since_ > std::chrono::seconds{5}) pause_.succeeded();
  }

private:
  backoff& pause_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Failures in a row that are told one by one.
inline constexpr int loud_failures = 5;

} // namespace lycosa::bridges
