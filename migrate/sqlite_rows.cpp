#include "migrate/mysql_rows.hpp"
#include "migrate/redis_rows.hpp"
#include "migrate/rows.hpp"
#include "migrate/sqlite.hpp"

#include <algorithm>

/// pyspider's tables in SQLite: `projectdb`, `taskdb_<project>`, `resultdb_<project>`.
namespace lycosa::migrate {

namespace {

constexpr const char* task_columns =
    "taskid, project, url, status, schedule, fetch, process, track, lastcrawltime, updatetime";

/// A name as an identifier of SQL.
std::string quoted(const std::string& name) {
  std::string out = "`";
  for (char c : name)
    out += c == '`' ? std::string{"``"} : std::string{c};
  return out + "`";
}

/// Rows after the cursor (a rowid), at most `limit`; `read(query)` makes one of each.
template <class Row, class Read>
result<std::vector<Row>> page(const sqlite_file& file, const std::string& columns,
                              const std::string& table, std::string& cursor, std::size_t limit,
                              Read&& read) {
  auto q = file.query("SELECT rowid, " + columns + " FROM " + quoted(table)
                      + " WHERE rowid > ? ORDER BY rowid LIMIT ?");
  if (!q) return tl::unexpected(q.error());
  q->bind(1, cursor.empty() ? std::int64_t{0} : std::int64_t{std::stoll(cursor)});
  q->bind(2, static_cast<std::int64_t>(limit));
  std::vector<Row> rows;
  std::int64_t last = 0;
  for (;;) {
    auto more = q->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    last = q->integer(0);
    rows.push_back(read(*q));
  }
  cursor = rows.size() < limit ? std::string{} : std::to_string(last);
  return rows;
}

class sqlite_projects final : public project_source, public project_sink {
public:
  explicit sqlite_projects(sqlite_file file) : file_(std::move(file)) {}

  result<void> make() {
    return file_.run("CREATE TABLE IF NOT EXISTS `projectdb` (name PRIMARY KEY, `group`, status, "
                     "script, comments, rate, burst, updatetime)");
  }

  result<std::vector<project_row>> projects() override {
    auto q = file_.query("SELECT name, `group`, status, script, comments, rate, burst, updatetime "
                         "FROM projectdb ORDER BY name");
    if (!q) return tl::unexpected(q.error());
    std::vector<project_row> rows;
    for (;;) {
      auto more = q->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) return rows;
      rows.push_back({q->text(0), q->text(1), q->text(2), q->text(3), q->text(4), q->number(5),
                      q->number(6), q->number(7)});
    }
  }

  result<void> write(const std::vector<project_row>& rows) override {
    auto q = file_.query("INSERT OR REPLACE INTO projectdb (name, `group`, status, script, "
                         "comments, rate, burst, updatetime) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    if (!q) return tl::unexpected(q.error());
    for (const auto& r : rows) {
      int at = 0;
      for (const auto* text : {&r.name, &r.group, &r.status, &r.script, &r.comments})
        q->bind(++at, *text);
      for (const double n : {r.rate, r.burst, r.updatetime})
        q->bind(++at, n);
      if (auto done = q->step(); !done) return tl::unexpected(done.error());
      q->reset();
    }
    return {};
  }

private:
  sqlite_file file_;
};

class sqlite_tasks final : public task_source, public task_sink {
public:
  explicit sqlite_tasks(sqlite_file file) : file_(std::move(file)) {}

  result<std::vector<std::string>> projects() override { return file_.tables("taskdb_"); }

  result<task_counts> counts(const std::string& project) override {
    auto q = file_.query("SELECT status, count(*) FROM " + quoted("taskdb_" + project)
                         + " GROUP BY status");
    if (!q) return tl::unexpected(q.error());
    task_counts counts{};
    for (;;) {
      auto more = q->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) return counts;
      const auto status = q->integer(0);
      counts[status >= 1 && status <= 4 ? static_cast<std::size_t>(status) : 0] +=
          static_cast<std::uint64_t>(q->integer(1));
    }
  }

  result<std::vector<task_row>> read(const std::string& project, std::string& cursor,
                                     std::size_t limit) override {
    return page<task_row>(file_, task_columns, "taskdb_" + project, cursor, limit,
                          [&](const sqlite_query& q) {
                            task_row r;
                            r.taskid = q.text(1);
                            r.project = project;
                            r.url = q.text(3);
                            r.status = q.integer(4);
                            r.schedule = q.text(5);
                            r.fetch = q.text(6);
                            r.process = q.text(7);
                            r.track = q.text(8);
                            r.lastcrawltime = q.number(9);
                            r.updatetime = q.number(10);
                            return r;
                          });
  }

  result<void> write(const std::string& project, const std::vector<task_row>& rows) override {
    const auto table = quoted("taskdb_" + project);
    if (auto ok = file_.run("CREATE TABLE IF NOT EXISTS " + table
                            + " (taskid PRIMARY KEY, project, url, status, schedule, fetch, "
                              "process, track, lastcrawltime, updatetime); CREATE INDEX IF NOT "
                              "EXISTS "
                            + quoted("status_taskdb_" + project + "_index") + " ON " + table
                            + " (status); BEGIN");
        !ok)
      return ok;
    auto q = file_.query("INSERT OR REPLACE INTO " + table + " (" + task_columns
                         + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    if (!q) return tl::unexpected(q.error());
    for (const auto& r : rows) {
      q->bind(1, r.taskid);
      q->bind(2, r.project);
      q->bind(3, r.url);
      q->bind(4, r.status);
      int at = 4;
      for (const auto* part : {&r.schedule, &r.fetch, &r.process, &r.track})
        q->bind(++at, part->empty() ? std::string_view{"{}"} : std::string_view{*part});
      if (r.lastcrawltime > 0)
        q->bind(9, r.lastcrawltime);
      else
        q->bind_null(9);
      q->bind(10, r.updatetime);
      if (auto done = q->step(); !done) return tl::unexpected(done.error());
      q->reset();
    }
    return file_.run("COMMIT");
  }

private:
  sqlite_file file_;
};

class sqlite_results final : public result_source, public result_sink {
public:
  explicit sqlite_results(sqlite_file file) : file_(std::move(file)) {}

  result<std::vector<std::string>> projects() override { return file_.tables("resultdb_"); }

  result<std::uint64_t> count(const std::string& project) override {
    auto q = file_.query("SELECT count(*) FROM " + quoted("resultdb_" + project));
    if (!q) return tl::unexpected(q.error());
    auto row = q->step();
    if (!row) return tl::unexpected(row.error());
    return static_cast<std::uint64_t>(q->integer(0));
  }

  result<std::vector<result_row>> read(const std::string& project, std::string& cursor,
                                       std::size_t limit) override {
    return page<result_row>(file_, "taskid, url, result, updatetime", "resultdb_" + project, cursor,
                            limit, [](const sqlite_query& q) {
                              return result_row{q.text(1), q.text(2), q.text(3), q.number(4)};
                            });
  }

  result<void> write(const std::string& project, const std::vector<result_row>& rows) override {
    const auto table = quoted("resultdb_" + project);
    if (auto ok = file_.run("CREATE TABLE IF NOT EXISTS " + table
                            + " (taskid PRIMARY KEY, url, result, updatetime); BEGIN");
        !ok)
      return ok;
    auto q = file_.query("INSERT OR REPLACE INTO " + table
                         + " (taskid, url, result, updatetime) VALUES (?, ?, ?, ?)");
    if (!q) return tl::unexpected(q.error());
    for (const auto& r : rows) {
      q->bind(1, r.taskid);
      q->bind(2, r.url);
      q->bind(3, r.result);
      q->bind(4, r.updatetime);
      if (auto done = q->step(); !done) return tl::unexpected(done.error());
      q->reset();
    }
    return file_.run("COMMIT");
  }

private:
  sqlite_file file_;
};

tl::unexpected<error> no_such_database(std::string_view url) {
  return fail(
      errc::invalid_argument, std::string{url},
      "not a database this version knows: sqlite:///PATH, mysql://USER:PASSWORD@HOST/DATABASE, "
      "and for tasks redis+taskdb://HOST:PORT/DB");
}

template <class Kind, class Made>
result<std::unique_ptr<Kind>> open_file(std::string_view url, bool write) {
  const auto path = sqlite_path(url);
  if (path.empty()) return no_such_database(url);
  auto file = sqlite_file::open(path, write);
  if (!file) return tl::unexpected(file.error());
  auto made = std::make_unique<Made>(std::move(*file));
  if constexpr (requires { made->make(); }) {
    if (write)
      if (auto ok = made->make(); !ok) return tl::unexpected(ok.error());
  }
  return made;
}

} // namespace

result<std::unique_ptr<project_source>> open_projects(std::string_view url) {
  if (url.starts_with("mysql")) return open_mysql_projects(url);
  return open_file<project_source, sqlite_projects>(url, false);
}
result<std::unique_ptr<task_source>> open_tasks(std::string_view url) {
  if (url.starts_with("redis")) return open_redis_tasks(url);
  if (url.starts_with("mysql")) return open_mysql_tasks(url);
  return open_file<task_source, sqlite_tasks>(url, false);
}
result<std::unique_ptr<result_source>> open_results(std::string_view url) {
  if (url.starts_with("mysql")) return open_mysql_results(url);
  return open_file<result_source, sqlite_results>(url, false);
}
result<std::unique_ptr<project_sink>> make_projects(std::string_view url) {
  return open_file<project_sink, sqlite_projects>(url, true);
}
result<std::unique_ptr<task_sink>> make_tasks(std::string_view url) {
  return open_file<task_sink, sqlite_tasks>(url, true);
}
result<std::unique_ptr<result_sink>> make_results(std::string_view url) {
  return open_file<result_sink, sqlite_results>(url, true);
}

} // namespace lycosa::migrate
