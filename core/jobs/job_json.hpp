#pragma once

#include "core/jobs/job.hpp"
#include "core/jobs/job_place.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lycosa::jobs {

/// A job as a client sends it.
struct job_input {
  jobs::job job;
  bool replace_existing = false;
};

/// Reads a job object. Strict: a member that is not known is refused with the nearest name, a
/// member of the wrong kind or out of range with its name (`action.argv[1]`). `now` becomes
/// `created`. `next_run_time` is read past: it is an answer, not an order. Without an `id` the
/// error's `what` is `id`: ids are the clients', so that sending a job twice makes one.
[[nodiscard]] result<job_input> parse_job(std::string_view text, wall_time now);

/// The same for a list of job objects, each read by itself; an error when it is no list.
[[nodiscard]] result<std::vector<result<job_input>>> parse_jobs(std::string_view text,
                                                                wall_time now);

/// The job with a patch applied; `created` and all that the scheduler keeps stay. The trigger is
/// compiled anew. Whether the next run stays is decided by comparing the two triggers.
[[nodiscard]] result<job> apply_patch(const job& old, const job_patch& patch);

/// The action of an ACTION object, with the same strictness. `path` prefixes the errors' names.
[[nodiscard]] result<action> parse_action(std::string_view text, std::string_view path = "action");

/// The text of a JSON object on one line; `what` names it in the error.
[[nodiscard]] result<std::string> one_line(std::string_view object, std::string_view what);

/// The job object clients see, on one line, with `next_run_time` and `finished`.
[[nodiscard]] std::string to_json(const job& j);

/// What a client has said, for `parse_members`.
[[nodiscard]] std::string to_members_json(const job& j);
/// The job of these members at this place. `corrupt` when they are not those of a job.
[[nodiscard]] result<job> parse_members(std::string_view text, const job_place& place);

} // namespace lycosa::jobs
