#include "migrate/mysql_rows.hpp"

#include <curl/curl.h>
#include <mysql.h>

#include <charconv>
#include <optional>

namespace lycosa::migrate {

namespace {

constexpr unsigned connect_seconds = 10;

struct closer {
  void operator()(MYSQL* m) const { mysql_close(m); }
  void operator()(MYSQL_RES* r) const { mysql_free_result(r); }
  void operator()(CURLU* u) const { curl_url_cleanup(u); }
};

std::optional<std::string> part(CURLU* url, CURLUPart what) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, CURLU_URLDECODE) != CURLUE_OK || text == nullptr)
    return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

/// A name as an identifier of SQL.
std::string quoted(const std::string& name) {
  std::string out = "`";
  for (char c : name)
    out += c == '`' ? std::string{"``"} : std::string{c};
  return out + "`";
}

double number(const std::string& text) {
  double d = 0;
  std::from_chars(text.data(), text.data() + text.size(), d);
  return d;
}

/// A connection that only reads.
class database {
public:
  static result<database> open(std::string_view text, std::string_view otherwise) {
    const std::unique_ptr<CURLU, closer> url{curl_url()};
    const std::string whole{text};
    if (!url
        || curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), CURLU_NON_SUPPORT_SCHEME)
               != CURLUE_OK)
      return fail(errc::invalid_argument, "mysql",
                  "not mysql+taskdb://user:password@host/database");
    database d;
    d.connection_.reset(mysql_init(nullptr));
    if (!d.connection_) return fail(errc::internal, "mysql", "out of memory");
    mysql_options(d.connection_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
    mysql_options(d.connection_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const auto host = part(url.get(), CURLUPART_HOST).value_or("127.0.0.1");
    const auto user = part(url.get(), CURLUPART_USER).value_or("root");
    const auto password = part(url.get(), CURLUPART_PASSWORD).value_or("");
    auto name = part(url.get(), CURLUPART_PATH).value_or("/").substr(1);
    if (name.empty()) name = otherwise;
    unsigned port = 3306;
    if (const auto given = part(url.get(), CURLUPART_PORT))
      std::from_chars(given->data(), given->data() + given->size(), port);
    if (mysql_real_connect(d.connection_.get(), host.c_str(), user.c_str(), password.c_str(),
                           name.c_str(), port, nullptr, 0)
        == nullptr)
      return fail(errc::unavailable, host + "/" + name, mysql_error(d.connection_.get()));
    return d;
  }

  using row = std::vector<std::string>; ///< NULL as empty text
  result<std::vector<row>> query(const std::string& sql) const {
    if (mysql_real_query(connection_.get(), sql.data(), sql.size()) != 0) return failed();
    const std::unique_ptr<MYSQL_RES, closer> got{mysql_store_result(connection_.get())};
    if (!got) return failed();
    std::vector<row> rows;
    const auto n = mysql_num_fields(got.get());
    while (MYSQL_ROW fields = mysql_fetch_row(got.get())) {
      const auto* sizes = mysql_fetch_lengths(got.get());
      auto& r = rows.emplace_back();
      for (unsigned i = 0; i < n; ++i)
        r.push_back(fields[i] != nullptr ? std::string{fields[i], sizes[i]} : std::string{});
    }
    return rows;
  }

  [[nodiscard]] std::string text(const std::string& value) const {
    std::string out(value.size() * 2 + 1, '\0');
    out.resize(mysql_real_escape_string(connection_.get(), out.data(), value.data(), value.size()));
    return "'" + out + "'";
  }

  result<std::vector<std::string>> tables() const {
    auto rows = query("SHOW TABLES");
    if (!rows) return tl::unexpected(rows.error());
    std::vector<std::string> names;
    for (auto& r : *rows)
      names.push_back(std::move(r.at(0)));
    return names;
  }

  /// Rows after the cursor (a taskid), at most `limit`.
  template <class Row, class Make>
  result<std::vector<Row>> page(const std::string& columns, const std::string& table,
                                std::string& cursor, std::size_t limit, Make&& make) const {
    const auto after = cursor.empty() ? std::string{} : " WHERE taskid > " + text(cursor.substr(1));
    auto rows = query("SELECT " + columns + " FROM " + quoted(table) + after
                      + " ORDER BY taskid LIMIT " + std::to_string(limit));
    if (!rows) return tl::unexpected(rows.error());
    // A mark before the id: an empty cursor is the end.
    cursor = rows->size() < limit ? std::string{} : "=" + rows->back().at(0);
    std::vector<Row> out;
    for (const auto& r : *rows)
      out.push_back(make(r));
    return out;
  }

private:
  tl::unexpected<error> failed() const {
    return fail(errc::io_error, "mysql", mysql_error(connection_.get()));
  }

  std::unique_ptr<MYSQL, closer> connection_;
};

class mysql_projects final : public project_source {
public:
  explicit mysql_projects(database d) : db_(std::move(d)) {}
  result<std::vector<project_row>> projects() override {
    auto rows = db_.query("SELECT name, `group`, status, script, comments, rate, burst, updatetime "
                          "FROM projectdb ORDER BY name");
    if (!rows) return tl::unexpected(rows.error());
    std::vector<project_row> out;
    for (const auto& r : *rows)
      out.push_back({r[0], r[1], r[2], r[3], r[4], number(r[5]), number(r[6]), number(r[7])});
    return out;
  }

private:
  database db_;
};

class mysql_tasks final : public task_source {
public:
  explicit mysql_tasks(database d) : db_(std::move(d)) {}
  result<std::vector<std::string>> projects() override { return db_.tables(); }
  result<task_counts> counts(const std::string& project) override {
    auto rows = db_.query("SELECT status, count(*) FROM " + quoted(project) + " GROUP BY status");
    if (!rows) return tl::unexpected(rows.error());
    task_counts counts{};
    for (const auto& r : *rows) {
      const auto status = static_cast<std::size_t>(number(r[0]));
      counts[status >= 1 && status <= 4 ? status : 0] += static_cast<std::uint64_t>(number(r[1]));
    }
    return counts;
  }
  result<std::vector<task_row>> read(const std::string& project, std::string& cursor,
                                     std::size_t limit) override {
    return db_.page<task_row>(
        "taskid, url, status, schedule, `fetch`, process, track, lastcrawltime, updatetime",
        project, cursor, limit, [&](const database::row& r) {
          return task_row{r[0],         project,     r[1], static_cast<std::int64_t>(number(r[2])),
                          r[3],         r[4],        r[5], r[6],
                          number(r[7]), number(r[8])};
        });
  }

private:
  database db_;
};

class mysql_results final : public result_source {
public:
  explicit mysql_results(database d) : db_(std::move(d)) {}
  result<std::vector<std::string>> projects() override { return db_.tables(); }
  result<std::uint64_t> count(const std::string& project) override {
    auto rows = db_.query("SELECT count(*) FROM " + quoted(project));
    if (!rows) return tl::unexpected(rows.error());
    return static_cast<std::uint64_t>(number(rows->at(0).at(0)));
  }
  result<std::vector<result_row>> read(const std::string& project, std::string& cursor,
                                       std::size_t limit) override {
    return db_.page<result_row>("taskid, url, result, updatetime", project, cursor, limit,
                                [](const database::row& r) {
                                  return result_row{r[0], r[1], r[2], number(r[3])};
                                });
  }

private:
  database db_;
};

template <class Kind, class Made>
result<std::unique_ptr<Kind>> open_as(std::string_view url, std::string_view name) {
  auto d = database::open(url, name);
  if (!d) return tl::unexpected(d.error());
  return std::make_unique<Made>(std::move(*d));
}

} // namespace

result<std::unique_ptr<project_source>> open_mysql_projects(std::string_view url) {
  return open_as<project_source, mysql_projects>(url, "projectdb");
}
result<std::unique_ptr<task_source>> open_mysql_tasks(std::string_view url) {
  return open_as<task_source, mysql_tasks>(url, "taskdb");
}
result<std::unique_ptr<result_source>> open_mysql_results(std::string_view url) {
  return open_as<result_source, mysql_results>(url, "resultdb");
}

} // namespace lycosa::migrate
