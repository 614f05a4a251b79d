#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace lycosa::cli {

/// Lines a person types, with editing, history (kept in ~/.lycosa_history) and completion of
/// `words`; or plain lines from a pipe. One at a time in a process.
class line_reader {
public:
  line_reader(std::istream& in, bool terminal, std::string prompt, std::vector<std::string> words);
  ~line_reader();
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  /// None at the end of the input.
  std::optional<std::string> next();

private:
  std::istream& in_;
  bool terminal_;
  std::string prompt_;
  std::string history_;
};

} // namespace lycosa::cli
