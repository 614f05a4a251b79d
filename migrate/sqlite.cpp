#include "migrate/sqlite.hpp"

#include <sqlite3.h>

#include <filesystem>

namespace lycosa::migrate {

namespace {

constexpr int busy_ms = 10'000; ///< pyspider may be writing

tl::unexpected<error> failed(sqlite3* db, int rc) {
  const auto code = rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB ? errc::corrupt : errc::io_error;
  return fail(code, "sqlite", db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

} // namespace

void sqlite_query::finish::operator()(sqlite3_stmt* s) const {
  sqlite3_finalize(s);
}

void sqlite_query::bind(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}
void sqlite_query::bind(int at, std::int64_t n) {
  sqlite3_bind_int64(statement_.get(), at, n);
}
void sqlite_query::bind(int at, double d) {
  sqlite3_bind_double(statement_.get(), at, d);
}
void sqlite_query::bind_null(int at) {
  sqlite3_bind_null(statement_.get(), at);
}

result<bool> sqlite_query::step() {
  const int rc = sqlite3_step(statement_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return failed(sqlite3_db_handle(statement_.get()), rc);
}

void sqlite_query::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string sqlite_query::text(int at) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), at));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), at));
  return bytes == nullptr ? std::string{} : std::string{bytes, size};
}
std::int64_t sqlite_query::integer(int at) const {
  return sqlite3_column_int64(statement_.get(), at);
}
double sqlite_query::number(int at) const {
  return sqlite3_column_double(statement_.get(), at);
}

void sqlite_file::close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

result<sqlite_file> sqlite_file::open(const std::string& path, bool write) {
  std::error_code ec;
  if (!write && !std::filesystem::is_regular_file(path, ec))
    return fail(errc::not_found, path, "no such file");
  sqlite3* db = nullptr;
  const int rc = sqlite3_open_v2(
      path.c_str(), &db, write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY,
      nullptr);
  sqlite_file file{db};
  if (rc != SQLITE_OK) return fail(errc::io_error, path, sqlite3_errstr(rc));
  sqlite3_busy_timeout(db, busy_ms);
  // The header is read with the first statement: a file that is none is told here.
  if (auto ok = file.run("SELECT count(*) FROM sqlite_master"); !ok)
    return fail(ok.error().code, path, ok.error().why);
  return file;
}

result<sqlite_query> sqlite_file::query(const std::string& sql) const {
  sqlite3_stmt* s = nullptr;
  const int rc = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &s, nullptr);
  if (rc != SQLITE_OK) return failed(db_.get(), rc);
  return sqlite_query{s};
}

result<void> sqlite_file::run(const std::string& sql) const {
  const int rc = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return failed(db_.get(), rc);
  return {};
}

result<std::vector<std::string>> sqlite_file::tables(const std::string& prefix) const {
  auto q = query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  if (!q) return tl::unexpected(q.error());
  std::vector<std::string> names;
  for (;;) {
    auto row = q->step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return names;
    const auto name = q->text(0);
    if (name.starts_with(prefix) && name.size() > prefix.size())
      names.push_back(name.substr(prefix.size()));
  }
}

std::string sqlite_path(std::string_view url) {
  if (!url.starts_with("sqlite")) return {};
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return {};
  auto path = url.substr(colon + 3);
  if (path.starts_with("//")) return std::string{path.substr(1)};
  if (path.starts_with("/")) {
    // pyspider takes three slashes for a path relative to where it runs; people write them for
    // absolute ones too.
    const std::string relative{path.substr(1)};
    std::error_code ec;
    return !std::filesystem::exists(relative, ec) && std::filesystem::exists(path, ec)
               ? std::string{path}
               : relative;
  }
  return std::string{path};
}

} // namespace lycosa::migrate
