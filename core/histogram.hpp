#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lycosa {

/// What a histogram held when it was looked at.
struct histogram_counts {
  std::span<const double> bounds;     ///< upper ends of the buckets, ascending; lives for ever
  std::vector<std::uint64_t> buckets; ///< not cumulative; one more than bounds
  double sum = 0;
};

/// How many values fell below which bound, since the process started. Any thread may add and look;
/// who has many values gathers them in a `batch` first, so that others see one change of it.
class histogram {
public:
  static constexpr std::size_t most_bounds = 23;

  class batch {
  public:
    explicit batch(const histogram& of) : bounds_(of.bounds_) {}
    void add(double value, std::uint32_t times = 1) {
      counts_[place_of(bounds_, value)] += times;
      sum_ += value * times;
    }

  private:
    friend class histogram;
    std::span<const double> bounds_;
    std::array<std::uint32_t, most_bounds + 1> counts_{};
    double sum_ = 0;
  };

  /// Precondition: at most `most_bounds`, ascending; they outlive this.
  explicit histogram(std::span<const double> bounds) : bounds_(bounds) {}

  void add(double value, std::uint64_t times = 1) {
    counts_[place_of(bounds_, value)].fetch_add(times, std::memory_order_relaxed);
    sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
  }
  void add(const batch& values) {
    for (std::size_t i = 0; i <= bounds_.size(); ++i)
      if (values.counts_[i] > 0) counts_[i].fetch_add(values.counts_[i], std::memory_order_relaxed);
    if (values.sum_ != 0) sum_.fetch_add(values.sum_, std::memory_order_relaxed);
  }

  [[nodiscard]] histogram_counts look() const {
    histogram_counts out{bounds_, {}, sum_.load(std::memory_order_relaxed)};
    for (std::size_t i = 0; i <= bounds_.size(); ++i)
      out.buckets.push_back(counts_[i].load(std::memory_order_relaxed));
    return out;
  }

private:
  /// Few bounds, and most values are small: a search would cost more than this walk.
  static std::size_t place_of(std::span<const double> bounds, double value) {
    std::size_t i = 0;
    while (i < bounds.size() && value > bounds[i])
      ++i;
    return i;
  }

  std::span<const double> bounds_;
  std::array<std::atomic<std::uint64_t>, most_bounds + 1> counts_{};
  std::atomic<double> sum_{0};
};

} // namespace lycosa
