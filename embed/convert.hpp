#pragma once

#include "core/jobs/event.hpp"
#include "core/jobs/job.hpp"
#include "core/jobs/run.hpp"

#include "lycosa/scheduler.hpp"

/// Between the public types and those of the scheduler.
namespace lycosa::embed {

[[noreturn]] void throw_error(const error& e);

template <class T>
T value_or_throw(result<T> r) {
  if (!r) throw_error(r.error());
  return std::move(*r);
}

/// The TRIGGER object of a schedule. Throws `scheduler_error`.
[[nodiscard]] std::string trigger_json(const schedule& when);

/// A job object. Throws `scheduler_error` when one of the texts is not JSON.
[[nodiscard]] std::string job_json(std::string_view id, const schedule& when,
                                   std::string_view action, const job_options& options);

/// A job object with the defaults in the places that it leaves open.
[[nodiscard]] std::string with_defaults(std::string_view job, const job_options& defaults,
                                        std::string_view timezone);

/// The members of options that are set, as a JSON object.
[[nodiscard]] std::string options_json(const job_options& options);

/// The elements of a JSON list, or of lines of JSON. Throws `scheduler_error`.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
[[nodiscard]] std::string join_list(const std::vector<std::string>& items);

[[nodiscard]] job_info to_info(const jobs::job& j, bool pending);
[[nodiscard]] run_info to_info(const jobs::run_record& r);
[[nodiscard]] event to_event(const jobs::job_event& e);
/// One line for `print_jobs`.
[[nodiscard]] std::string to_line(const jobs::job& j, bool pending);

} // namespace lycosa::embed
