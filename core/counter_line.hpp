#pragma once

#include "core/counters.hpp"

#include <string>
#include <utility>
#include <vector>

namespace lycosa {

/// The log's line about the last five minutes, as pyspider's: the sums over all projects, then the
/// (at most five) projects that did or failed most, each as `name:new,success,retry,failed`.
/// Empty when nothing happened.
[[nodiscard]] std::string counter_line(std::vector<std::pair<std::string, event_values>> projects);

} // namespace lycosa
