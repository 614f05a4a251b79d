#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace lycosa::migrate {

/// One prepared statement; runs to its end or is dropped.
class sqlite_query {
public:
  explicit sqlite_query(sqlite3_stmt* s) : statement_(s) {}
  sqlite_query(sqlite_query&&) noexcept = default;

  // Parameters, counted from 1.
  void bind(int at, std::string_view text);
  void bind(int at, std::int64_t n);
  void bind(int at, double d);
  void bind_null(int at);

  /// The next row; false at the end.
  result<bool> step();
  void reset();

  // Columns, counted from 0. Blobs count as text.
  [[nodiscard]] std::string text(int at) const;
  [[nodiscard]] std::int64_t integer(int at) const;
  [[nodiscard]] double number(int at) const;

private:
  struct finish {
    void operator()(sqlite3_stmt* s) const;
  };
  std::unique_ptr<sqlite3_stmt, finish> statement_;
};

/// One database file.
class sqlite_file {
public:
  /// `write`: made where it is missing; else opened for reading alone.
  static result<sqlite_file> open(const std::string& path, bool write);

  [[nodiscard]] result<sqlite_query> query(const std::string& sql) const;
  [[nodiscard]] result<void> run(const std::string& sql) const;
  /// Tables with names beginning with `prefix`, without it, in order.
  [[nodiscard]] result<std::vector<std::string>> tables(const std::string& prefix) const;

private:
  struct close {
    void operator()(sqlite3* db) const;
  };
  explicit sqlite_file(sqlite3* db) : db_(db) {}
  std::unique_ptr<sqlite3, close> db_;
};

/// The path a URL of pyspider's names, or nothing when it is no sqlite URL.
[[nodiscard]] std::string sqlite_path(std::string_view url);

} // namespace lycosa::migrate
