#pragma once

#include <cstdint>

namespace lycosa::cli {

/// Raises this process's limit of open files to what the system lets it have, up to `wanted`, and
/// returns the limit that holds then. Shells start programs with 1,024, fewer than a node's
/// connections.
std::uint64_t raise_open_files(std::uint64_t wanted);

} // namespace lycosa::cli
