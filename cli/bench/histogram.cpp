#include "cli/bench/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lycosa::cli::bench {

// Values below 2^11 have a bucket each. Above, a value keeps its highest eleven bits: bucket =
// (how far they were shifted) · 1024 + those bits, which continues the first range seamlessly.

std::size_t histogram::index_of(std::uint64_t value) noexcept {
  const unsigned width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width > half_bits + 1 ? width - half_bits - 1 : 0;
  return (static_cast<std::size_t>(shift) << half_bits) + static_cast<std::size_t>(value >> shift);
}

std::uint64_t histogram::highest_of(std::size_t index) noexcept {
  constexpr std::size_t half = std::size_t{1} << half_bits;
  const std::size_t shift = index < 2 * half ? 0 : (index >> half_bits) - 1;
  const std::uint64_t bits = index - (shift << half_bits);
  return ((bits + 1) << shift) - 1;
}

void histogram::record(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  value = std::min(value, std::uint64_t{1} << 62);
  const auto at = index_of(value);
  if (at >= counts_.size()) counts_.resize(at + 1);
  counts_[at] += times;
  count_ += times;
  max_ = std::max(max_, value);
  min_ = std::min(min_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void histogram::merge(const histogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
  sum_ += other.sum_;
}

double histogram::mean() const noexcept {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::uint64_t histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const auto share = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
  // Not pushed up by what a double cannot hold: 99.9 % of 1000 are 999.
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(share - 1e-9 * static_cast<double>(count_))));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if ((passed += counts_[i]) >= wanted) return std::clamp(highest_of(i), min_, max_);
  return max_;
}

} // namespace lycosa::cli::bench
