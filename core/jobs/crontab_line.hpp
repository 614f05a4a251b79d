#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The lines of a crontab one by one, as cronie's crond reads them. Columns count from 1.
namespace lycosa::jobs::detail {

/// `NAME=value`, with or without quotes and blanks around the `=`.
struct crontab_variable {
  std::string name;
  std::string value;
};

/// Reads a line as a variable, by the daemon's own rules: quotes around the whole name or value
/// are taken off, blanks at the end of a bare value too, nothing is expanded. None when the line
/// is something else.
[[nodiscard]] std::optional<crontab_variable> read_variable(std::string_view line);

/// What the shell gets and what it reads: the text after the first `%` is input, in which every
/// further `%` ends a line; `\%` is a `%`.
struct crontab_command {
  std::string shell;
  std::string input;
  std::size_t percent = 0; ///< offset of the `%` the input begins after; npos = there is none
};
[[nodiscard]] crontab_command split_percent(std::string_view text);

/// What a comment line is good for.
enum class comment_kind : std::uint8_t {
  words,    ///< tells something about the entry below
  template_ ///< a drawing or heading of the columns, or an entry that is switched off
};
/// `text` is what follows the `#`.
[[nodiscard]] comment_kind classify_comment(std::string_view text);

/// A short name for a command: the programs and files it names, lower case, at most 40 letters,
/// digits, dots and dashes. Options, values of variables and what follows `?`, `=`, `:` or `@` are
/// left out: that is where secrets are.
[[nodiscard]] std::string command_slug(std::string_view command);

/// The longest beginning of `text` with at most `most` bytes that ends between two characters.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// Offset of the first byte that belongs to no character; npos when all is UTF-8.
[[nodiscard]] std::size_t find_bad_utf8(std::string_view text);

} // namespace lycosa::jobs::detail
