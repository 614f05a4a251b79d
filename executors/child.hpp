#pragma once

#include "core/result.hpp"
#include "executors/unique_fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lycosa::executors {

/// The ids a child takes on; set by the raw system calls, in the child alone.
struct credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

/// All a child needs, ready before it exists: between its birth and exec nothing may allocate.
struct launch_plan {
  std::vector<std::string> programs; ///< paths to try in this order; the first that exists is run
  std::vector<std::string> argv;     ///< at least one
  std::vector<std::string> env;      ///< NAME=value
  std::string cwd;                   ///< empty = the node's own
  std::optional<credentials> as;     ///< none = the node's own
};

struct child {
  pid_t pid = -1;  ///< leader of a session and a process group of its own
  unique_fd pidfd; ///< readable once the leader has exited; close-on-exec
};

/// Starts a program. Its stdin is `in`, its stdout and stderr are `out`; nothing else is open in
/// it. Signals are as a fresh login has them: none blocked, every disposition the default. Returns
/// once the program runs, or the error of the step that failed (not_found: no such program;
/// invalid_argument: directory or program unusable; io_error: the system's limits).
[[nodiscard]] result<child> launch(const launch_plan& plan, int in, int out);

} // namespace lycosa::executors
