#pragma once

#include "cli/client.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Jobs as TOML: a table `[[job]]` a job, with the members of the JSON form. TOML has no null
/// and no integers past 63 bits, so that
///
/// - `misfire_grace_time = "none"` and `timeout = "none"` stand for null;
/// - a member of the action that cannot be written otherwise is JSON in a string, under its name
///   with `_json` behind it (`task_json`, `payload_json`, `args_json`, `body_json`).
///
/// Dates and times may be TOML's own. The order of members is kept.
namespace lycosa::cli {

struct toml_job {
  json job;
  std::size_t line = 0; ///< where its table begins
};

/// True when a text can only be TOML, not JSON: its first line that says something is a comment, a
/// table or an assignment.
[[nodiscard]] bool looks_like_toml(std::string_view text);

/// The jobs of a TOML text. Fails with `file:line` and the reason.
[[nodiscard]] outcome<std::vector<toml_job>> jobs_from_toml(std::string_view text,
                                                            const std::string& file);

/// A list of job objects as TOML. What only answers have (`next_run_time`, `finished`) and members
/// that are null and would be without being named are left out.
[[nodiscard]] std::string jobs_to_toml(const json& jobs);

} // namespace lycosa::cli
