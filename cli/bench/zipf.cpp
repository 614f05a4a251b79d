#include "cli/bench/zipf.hpp"

#include <algorithm>
#include <cmath>

namespace lycosa::cli::bench {

zipf::zipf(std::uint32_t size, double skew) {
  double sum = 0;
  below_.reserve(size);
  for (std::uint32_t r = 1; r <= size; ++r)
    below_.push_back(sum += std::pow(static_cast<double>(r), -skew));
  for (auto& b : below_)
    b /= sum;
}

std::uint32_t zipf::rank(double fraction) const {
  const auto at = std::upper_bound(below_.begin(), below_.end(), fraction);
  return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(
      at - below_.begin(), static_cast<std::ptrdiff_t>(below_.size()) - 1));
}

} // namespace lycosa::cli::bench
