#pragma once

#include "cli/client.hpp"
#include "cli/commands.hpp"

#include <cstdint>
#include <string>

namespace lycosa::cli {

struct task_options : server_options {
  std::string file;
  std::string project;
  std::string taskid;
  std::string status;
  std::uint64_t limit = 100;
  std::uint64_t batch = 1000;
  bool dry_run = false;
};

int submit_tasks(const task_options& o, context& ctx);
int requeue_tasks(const task_options& o, context& ctx);

/// What became of submitted tasks, summed over requests.
struct submit_counts {
  std::uint64_t created = 0, restarted = 0, ignored = 0, cancelled = 0, rejected = 0;
  /// Adds the counts of one answer of `POST /v1/tasks`.
  void add(const json& answer);
  void print(bool as_json, std::ostream& out) const;
};

/// Calls `each(task)` for the tasks of a listing, page by page, until it returns false.
template <class Each>
outcome<void> for_each_task(client& server, const std::string& project, const std::string& status,
                            std::uint64_t page, Each each) {
  std::string cursor;
  for (;;) {
    auto path = "/v1/projects/" + url_encode(project) + "/tasks?limit=" + std::to_string(page);
    if (!status.empty()) path += "&status=" + url_encode(status);
    if (!cursor.empty()) path += "&after=" + url_encode(cursor);
    auto answer = server.call_json("GET", path);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->contains("tasks"))
      for (auto& task : (*answer)["tasks"])
        if (task.is_object() && !each(task)) return {};
    auto next = answer->find("next");
    if (next == answer->end() || !next->is_string() || next->get<std::string>().empty()) return {};
    cursor = next->get<std::string>();
  }
}

} // namespace lycosa::cli
