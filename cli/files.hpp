#pragma once

#include "cli/context.hpp"

#include <string>

namespace lycosa::cli {

/// The whole of a file, or of standard input for `-`.
outcome<std::string> read_input(const std::string& file, context& ctx);

} // namespace lycosa::cli
