#pragma once

#include <cstdint>

namespace lycosa::gateway {

/// What the kernel knows of this process; 0 where it does not tell.
struct process_stats {
  double cpu_seconds = 0;
  double start_time = 0; ///< seconds since 1970
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t most_files = 0;
  std::uint64_t threads = 0;
};

[[nodiscard]] process_stats look_at_process();

} // namespace lycosa::gateway
