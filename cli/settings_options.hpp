#pragma once

#include "cli/context.hpp"
#include "conf/load.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lycosa::cli {

/// `--config` and `--set`, as `serve` and `config print` take them.
struct settings_options {
  std::string config;
  std::vector<std::string> sets;
};
void add_settings_options(CLI::App* command, settings_options& options);

/// Loads all layers; on failure the problems are written to the error stream and none is returned.
std::optional<conf::loaded> load_settings(const settings_options& options, context& ctx);

} // namespace lycosa::cli
