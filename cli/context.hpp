#pragma once

#include "core/result.hpp"

#include <tl/expected.hpp>

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace lycosa::cli {

/// Exit codes of the program.
enum exit_code : int { done = 0, failed = 1, bad_input = 2, unreachable = 3 };

/// A failure of a command: its exit code and the one line that tells it.
struct failure {
  int code = failed;
  std::string what; ///< the thing it is about; may be empty
  std::string why;
};

template <class T>
using outcome = tl::expected<T, failure>;

/// What a command works with. Nothing else of the process is touched by commands that a test runs.
struct context {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_terminal = false;  ///< a person types
  bool err_terminal = false; ///< a person watches: progress may be drawn

  /// What the parsed command line asks for; set by the chosen command, run after parsing.
  std::function<int()> action{};

  /// Writes `lycosa: what: why` to the error stream and returns the exit code.
  int complain(const failure& f) const;
  int complain(const error& e) const;
};

/// The exit code an error of the node or the store ends a command with.
[[nodiscard]] int exit_code_of(errc code);

} // namespace lycosa::cli
