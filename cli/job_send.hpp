#pragma once

#include "cli/client.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace lycosa::cli {

/// What became of job number `index` of those that were sent: the job as the node shows it, or why
/// it was not taken. False = send no more.
using job_told = std::function<bool(std::size_t index, outcome<json> job)>;

/// Adds jobs, many in one request, and tells of each in their order. What is in one request is
/// stored in one commit; a job that is not taken does not keep back the others. Stops when the node
/// cannot be reached, and then has told so of the first job it could not send.
void send_jobs(client& server, const std::vector<json>& jobs, const job_told& told);

/// A job as text, whatever bytes are in it.
[[nodiscard]] std::string text_for_server(const json& job);

} // namespace lycosa::cli
