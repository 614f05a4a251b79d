#pragma once

#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// pyspider's three databases (project, task, result) as rows: read from and written to whatever it
/// kept them in. Values are as the database has them; JSON columns are text.
namespace lycosa::migrate {

struct project_row {
  std::string name, group, status, script, comments;
  double rate = 0, burst = 0;
  double updatetime = 0; ///< Unix seconds
};

struct task_row {
  std::string taskid, project, url;
  std::int64_t status = 1;
  std::string schedule, fetch, process, track; ///< JSON; empty = absent
  double lastcrawltime = 0, updatetime = 0;    ///< Unix seconds; 0 = never
};

struct result_row {
  std::string taskid, url, result; ///< `result`: JSON
  double updatetime = 0;
};

/// Tasks by status: [1] active, [2] success, [3] failed, [4] bad; [0] anything else.
using task_counts = std::array<std::uint64_t, 5>;

/// A task as a line of `POST /v1/import/tasks`, or why it cannot be one.
[[nodiscard]] tl::expected<std::string, std::string> to_line(const task_row& row);
/// A result as a line of `POST /v1/import/results`.
[[nodiscard]] tl::expected<std::string, std::string> to_line(const std::string& project,
                                                             const result_row& row);

/// Where one reads: databases of a running pyspider may be read, they are not changed. A cursor is
/// opaque text; empty = from the start, and again at the end.
class project_source {
public:
  virtual ~project_source() = default;
  virtual result<std::vector<project_row>> projects() = 0;
};

class task_source {
public:
  virtual ~task_source() = default;
  virtual result<std::vector<std::string>> projects() = 0;
  virtual result<task_counts> counts(const std::string& project) = 0;
  virtual result<std::vector<task_row>> read(const std::string& project, std::string& cursor,
                                             std::size_t limit) = 0;
};

class result_source {
public:
  virtual ~result_source() = default;
  virtual result<std::vector<std::string>> projects() = 0;
  virtual result<std::uint64_t> count(const std::string& project) = 0;
  virtual result<std::vector<result_row>> read(const std::string& project, std::string& cursor,
                                               std::size_t limit) = 0;
};

/// Where one writes, row by row; a batch is one transaction.
class project_sink {
public:
  virtual ~project_sink() = default;
  virtual result<void> write(const std::vector<project_row>& rows) = 0;
};
class task_sink {
public:
  virtual ~task_sink() = default;
  virtual result<void> write(const std::string& project, const std::vector<task_row>& rows) = 0;
};
class result_sink {
public:
  virtual ~result_sink() = default;
  virtual result<void> write(const std::string& project, const std::vector<result_row>& rows) = 0;
};

/// Opens what a URL of pyspider's names: `sqlite+taskdb:///data/task.db` (three slashes: relative,
/// four: absolute), `sqlite:///…`, `mysql+taskdb://user:password@host:port/database`,
/// `redis+taskdb://host:port/db` (tasks alone). Errors:
/// `invalid_argument` for a URL that is none of these, `not_found` for a missing file.
[[nodiscard]] result<std::unique_ptr<project_source>> open_projects(std::string_view url);
[[nodiscard]] result<std::unique_ptr<task_source>> open_tasks(std::string_view url);
[[nodiscard]] result<std::unique_ptr<result_source>> open_results(std::string_view url);

/// Makes the database where it is missing. SQLite only.
[[nodiscard]] result<std::unique_ptr<project_sink>> make_projects(std::string_view url);
[[nodiscard]] result<std::unique_ptr<task_sink>> make_tasks(std::string_view url);
[[nodiscard]] result<std::unique_ptr<result_sink>> make_results(std::string_view url);

} // namespace lycosa::migrate
