#pragma once

#include <cstdint>
#include <vector>

namespace lycosa::cli::bench {

/// A number of good quality for each number, the same at each run (SplitMix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t n) noexcept {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

/// `mix` as a fraction in [0, 1).
[[nodiscard]] constexpr double fraction(std::uint64_t n) noexcept {
  return static_cast<double>(mix(n) >> 11) * 0x1p-53;
}

/// Ranks 0 to `size` - 1, of which rank r comes up in proportion to 1 / (r + 1)^skew: as sites in a
/// crawl, of which a few have most of the pages.
class zipf {
public:
  /// `size` ≥ 1; `skew` ≥ 0, where 0 is all alike.
  zipf(std::uint32_t size, double skew);
  /// The rank that a fraction in [0, 1) stands for.
  [[nodiscard]] std::uint32_t rank(double fraction) const;

private:
  std::vector<double> below_; ///< share of all ranks up to and with this one
};

} // namespace lycosa::cli::bench
