#pragma once

#include <spdlog/spdlog.h>

#include <memory>

namespace lycosa::actors {

/// The logger of a subsystem ("scheduler", "storage", "dispatch", …). Levels are set per name by
/// whoever configures logging; a name nobody configured shares the default logger's sinks.
inline std::shared_ptr<spdlog::logger> log_of(const char* subsystem) {
  if (auto found = spdlog::get(subsystem)) return found;
  return spdlog::default_logger();
}

} // namespace lycosa::actors
