#pragma once

#include "bridges/bridge.hpp"
#include <spdlog/spdlog.h>

#include <chrono>
#include <string_view>

namespace lycosa::bridges {

/// A line about a bridge's figures, each minute in which they changed. Looked at by one thread that
/// wakes at least that often.
class stats_log {
public:
  void look(std::string_view name, const bridge_stats& s) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::minutes{1}) return;
    last_ = now;
    const std::uint64_t sum = s.popped + s.pushed + s.malformed + s.refused + s.reconnects;
    if (sum == told_) return;
    told_ = sum;
    spdlog::info("{}: so far {} messages taken, {} tasks pushed, {} malformed, {} refused, {} "
                 "reconnects",
                 name, s.popped.load(), s.pushed.load(), s.malformed.load(), s.refused.load(),
                 s.reconnects.load());
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::uint64_t told_ = 0;
};

} // namespace lycosa::bridges
