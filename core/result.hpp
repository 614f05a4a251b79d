#pragma once

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace lycosa {

/// What kind of failure happened; decides the HTTP status and the exit code, never the text.
enum class errc {
  invalid_argument = 1, ///< the caller's input is wrong (400, exit 2)
  not_found,            ///< the named thing does not exist (404)
  conflict,             ///< the state of the named thing forbids it (409)
  stale_lease,          ///< the lease was superseded, released or has run out
  too_large,            ///< a size limit was passed (413)
  busy,                 ///< back-pressure: try again later (429)
  unavailable,          ///< the part that would answer is down or restarting (503)
  no_space,             ///< disk or map full: writes are refused, nothing was changed (507)
  corrupt,              ///< stored bytes cannot be read; they are left untouched
  incompatible,         ///< wrong format version, shard count or owner
  io_error,             ///< the operating system failed a read or write
  internal,             ///< a bug or an impossible state
};

/// The stable, lower-case name of an error kind, for logs and JSON.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// A failure as a value: the kind, the field or object it is about, and the reason in words.
struct error {
  errc code = errc::internal;
  std::string what; ///< field, path or object the error is about; may be empty
  std::string why;  ///< reason for a person, one line

  /// "what: why", or only the part that is there.
  [[nodiscard]] std::string text() const;
};

template <class T>
using result = tl::expected<T, error>;

/// Builds the error side of a `result`.
[[nodiscard]] inline tl::unexpected<error> fail(errc code, std::string what, std::string why) {
  return tl::unexpected<error>(error{code, std::move(what), std::move(why)});
}

} // namespace lycosa
