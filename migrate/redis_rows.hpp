#pragma once

#include "migrate/rows.hpp"

namespace lycosa::migrate {

/// pyspider's taskdb in Redis: a hash `taskdb_<project>_<taskid>` a task, sets
/// `taskdb_<project>_status_<n>` of ids, and the set `taskdb_projects`.
[[nodiscard]] result<std::unique_ptr<task_source>> open_redis_tasks(std::string_view url);

} // namespace lycosa::migrate
