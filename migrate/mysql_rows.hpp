#pragma once

#include "migrate/rows.hpp"

namespace lycosa::migrate {

/// pyspider's databases in MySQL or MariaDB: `projectdb`, and a table per project (named after it)
/// in the task and in the result database. `mysql+taskdb://user:password@host:3306/database`.
[[nodiscard]] result<std::unique_ptr<project_source>> open_mysql_projects(std::string_view url);
[[nodiscard]] result<std::unique_ptr<task_source>> open_mysql_tasks(std::string_view url);
[[nodiscard]] result<std::unique_ptr<result_source>> open_mysql_results(std::string_view url);

} // namespace lycosa::migrate
