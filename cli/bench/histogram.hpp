#pragma once

#include <cstdint>
#include <vector>

namespace lycosa::cli::bench {

/// Counts of values from 0 to 2^62, kept to three significant digits (HDR: as many buckets in each
/// power of two, so that the error is relative). Grows to the largest value seen; one thread.
class histogram {
public:
  void record(std::uint64_t value, std::uint64_t times = 1);
  /// Adds all that `other` has counted.
  void merge(const histogram& other);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; } ///< exact; 0 = nothing counted
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; } ///< exact
  [[nodiscard]] double mean() const noexcept;

  /// The least value that at least `percent` of the values do not exceed, at most 0.1 % too large
  /// and never above `max()`. `percent` is from 0 to 100; 0 = nothing counted.
  [[nodiscard]] std::uint64_t percentile(double percent) const;

private:
  static constexpr unsigned half_bits = 10; ///< 1024 buckets in each power of two: error < 0.1 %
  [[nodiscard]] static std::size_t index_of(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t highest_of(std::size_t index) noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0, max_ = 0, min_ = UINT64_MAX;
  double sum_ = 0;
};

} // namespace lycosa::cli::bench
