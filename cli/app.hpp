#pragma once

#include "cli/context.hpp"

#include <span>
#include <string>
#include <vector>

namespace lycosa::cli {

/// Parses the arguments (without the program's name) and runs the command. Returns the exit code.
int run(std::vector<std::string> args, context& ctx);

} // namespace lycosa::cli
