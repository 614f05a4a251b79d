#pragma once

#include "core/jobs/executor.hpp"
#include "core/result.hpp"
#include "executors/child.hpp"

#include <map>
#include <string>

namespace lycosa::executors {

/// The environment commands start from: PATH, HOME, USER, LOGNAME, LANG, LC_*, TZ of this process
/// and SHELL=/bin/sh, no more, so that a node's secrets do not reach its jobs. PATH falls back to
/// the system's usual one.
[[nodiscard]] std::map<std::string, std::string> base_environment();

/// Turns an action into a launch. Sets LYCOSA_JOB_ID, LYCOSA_RUN, LYCOSA_ATTEMPT (0 = first) and
/// LYCOSA_NOMINAL_TIME (ISO, UTC); the action's own environment wins over all. With `user` set:
/// HOME, USER, LOGNAME and SHELL are the user's, and the directory defaults to the user's home.
/// Errors: invalid_argument naming the field; a user other than the node's own needs root.
[[nodiscard]] result<launch_plan> plan_command(const jobs::run_request& request,
                                               const jobs::command_action& action,
                                               const std::map<std::string, std::string>& base);

} // namespace lycosa::executors
