#pragma once

#include "core/types.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <string>

namespace lycosa::coordination {

/// How long to wait before trying again, and what to tell of it: longer each time, never all nodes
/// at the same moment, and the same complaint once.
class retry {
public:
  explicit retry(std::uint64_t seed)
      : random_(static_cast<std::uint_fast32_t>(seed % 2147483646)) {}

  usec failed(const std::string& why) {
    if (why != told_) spdlog::warn("coordination: {}; trying again", why);
    told_ = why;
    const auto wait = pause_;
    pause_ = std::min(pause_ * 2, longest);
    return usec{std::uniform_int_distribution<usec::rep>{wait.count() / 2, wait.count()}(random_)};
  }

  void succeeded() {
    told_.clear();
    pause_ = shortest;
  }

private:
  static constexpr usec shortest = std::chrono::milliseconds{100};
  static constexpr usec longest = std::chrono::seconds{2};

  std::minstd_rand random_;
  usec pause_ = shortest;
  std::string told_;
};

} // namespace lycosa::coordination
