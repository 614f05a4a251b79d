#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::cli {

/// Rows of text in aligned columns, for people. Numbers go to the right.
class table {
public:
  struct column {
    std::string title;
    bool right = false;
  };
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void print(std::ostream& out) const;

private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Control characters made visible: what a server sends must not move a terminal's cursor.
[[nodiscard]] std::string printable(std::string_view text);

/// `1234567` → `1,234,567`.
[[nodiscard]] std::string grouped(std::uint64_t n);

/// Unix seconds → `2024-05-01 12:00:00Z`; 0 → `-`.
[[nodiscard]] std::string time_text(double unix_seconds);

/// `12.3 MiB`
[[nodiscard]] std::string bytes_text(std::uint64_t n);

} // namespace lycosa::cli
