#pragma once

#include "conf/settings.hpp"
#include "core/result.hpp"

#include <span>
#include <string_view>

namespace lycosa::cli {

/// Sets spdlog up as `[log]` says: one logger a subsystem on one shared sink (standard error or a
/// rotating file), each with its level. Call once, before threads start. `io_error` when the file
/// cannot be opened.
[[nodiscard]] result<void> start_logging(const conf::log_settings& settings);

/// Writes out what is buffered and closes the sinks.
void stop_logging();

/// The names `log.levels` is about.
[[nodiscard]] std::span<const std::string_view> log_subsystems();

} // namespace lycosa::cli
