#pragma once

#include "cli/client.hpp"
#include "cli/commands.hpp"

#include <string>

/// The parts of `lycosa job`.
namespace lycosa::cli {

void add_job_adding(CLI::App* group, context& ctx);     ///< job add
void add_crontab_import(CLI::App* group, context& ctx); ///< job import-crontab

/// All jobs of a node, as `GET /v1/jobs` shows them.
outcome<json> list_jobs(client& server);

/// A member as text for people; `-` when it is not there.
[[nodiscard]] std::string text_of(const json& object, const char* name);

} // namespace lycosa::cli
