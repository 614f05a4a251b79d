#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa {

/// A project's `crawl_config`, joined to a task when it is handed out and never stored with it, so
/// that a change of it reaches the tasks that wait (pyspider 0.3.8's lazy join): keys of `fetch`
/// and of `process` a task lacks are added, where both have an object the members a task lacks,
/// and what the task says wins. The task's own values stay byte for byte.
class crawl_config {
public:
  /// `text`: a JSON object, valid; empty = nothing to join.
  explicit crawl_config(std::string_view text);

  [[nodiscard]] bool empty() const noexcept { return fetch_.empty() && process_.empty(); }

  /// Puts the task's `fetch` (a JSON object, or empty) with what it lacks into `out`. False, and
  /// `out` untouched, when it lacks nothing.
  [[nodiscard]] bool join_fetch(std::string_view fetch, std::string& out) const {
    return join(fetch_, fetch, out);
  }
  [[nodiscard]] bool join_process(std::string_view process, std::string& out) const {
    return join(process_, process, out);
  }

private:
  struct member {
    std::string name;  ///< as written, between quotes
    std::string value; ///< JSON text
  };
  static bool join(const std::vector<member>& config, std::string_view text, std::string& out);

  std::vector<member> fetch_, process_;
};

/// The members of a JSON object as name (as written, without quotes) and text of the value. The
/// text must be valid JSON; anything but an object has no members.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>>
json_members(std::string_view object);

} // namespace lycosa
