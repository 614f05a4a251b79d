#pragma once

#include "core/jobs/executor.hpp"
#include "core/result.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace lycosa::executors {

struct command_options {
  std::size_t output_cap = 64 * 1024;         ///< bytes of output kept of a run: the last ones
  usec kill_grace = std::chrono::seconds{10}; ///< from SIGTERM to SIGKILL, at time-out and cancel
  std::map<std::string, std::string> environment = {}; ///< empty = `base_environment()`
};

/// Runs `command_action`s; one thread serves all of them.
///
/// A run is over when its program has exited. What the program leaves behind in the background is
/// left alone, and its later output is lost (its pipe is closed). At time-out, `cancel` and `stop`
/// the whole process group gets SIGTERM. It gets SIGKILL after the grace, or as soon as the program
/// and everything that holds its output are gone. A program that leaves its process group by
/// setsid or setpgid escapes that.
///
/// Success is exit code 0. io_error if the system gives no descriptors.
[[nodiscard]] result<std::unique_ptr<jobs::executor>> make_command_executor(command_options o = {});

} // namespace lycosa::executors
