#pragma once

#include "core/histogram.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lycosa::gateway {

/// What the requests of one route came to. Any thread.
class route_meter {
public:
  static constexpr std::size_t classes = 5; ///< 1xx to 5xx

  void record(unsigned status, std::chrono::duration<double> took) {
    if (const auto i = status / 100 - 1; i < classes)
      answers_[i].fetch_add(1, std::memory_order_relaxed);
    seconds_.add(took.count());
  }
  [[nodiscard]] std::uint64_t answers(std::size_t status_class) const {
    return answers_[status_class].load(std::memory_order_relaxed);
  }
  [[nodiscard]] histogram_counts seconds() const { return seconds_.look(); }

private:
  static constexpr std::array bounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                     0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0};
  std::array<std::atomic<std::uint64_t>, classes> answers_{};
  histogram seconds_{bounds};
};

/// A server's. Routes by their place in `all_routes`; the one behind the last stands for what
/// found no route.
class http_meters {
public:
  explicit http_meters(std::size_t routes) {
    for (std::size_t i = 0; i <= routes; ++i)
      routes_.push_back(std::make_unique<route_meter>());
  }
  [[nodiscard]] std::size_t no_route() const { return routes_.size() - 1; }
  /// What is past the last route found none.
  route_meter& at(std::size_t route) { return *routes_[std::min(route, no_route())]; }
  const route_meter& at(std::size_t route) const { return *routes_[std::min(route, no_route())]; }

private:
  std::vector<std::unique_ptr<route_meter>> routes_;
};

} // namespace lycosa::gateway
