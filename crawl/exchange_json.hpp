#pragma once

#include "actors/node.hpp"

#include "crawl/fetcher.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The two sides of docs/handlers.md, and what a crawl leaves behind.
namespace lycosa::crawl {

/// What a script is asked: the task and what was fetched, without the id.
[[nodiscard]] std::string to_request(const actors::leased_task& t, const fetched& f);

/// The user agent for which robots.txt is to be asked (empty = the fetcher's own), if the task
/// wants that (`fetch.robots_txt`); else none.
[[nodiscard]] std::optional<std::string> robots_wish(const task& t);

/// What it answers.
struct script_answer {
  bool ok = false;
  std::vector<std::string> follows; ///< tasks as JSON; each names its project
  std::string result;               ///< JSON; empty = none
  std::string save;                 ///< JSON; empty = none
  std::string logs, exception;
  double seconds = 0;
  struct message {
    std::string project, url, body; ///< `body`: JSON
  };
  std::vector<message> messages;
};
/// Deepest nesting of objects and lists in an answer.
inline constexpr int deepest_answer = 60;

/// `project`: of follows that name none. Errors say what is wrong with the answer.
[[nodiscard]] result<script_answer> read_answer(const std::string& text,
                                                const std::string& project);

/// The last `most` bytes of a text, from the beginning of a character on.
[[nodiscard]] std::string_view end_of(std::string_view text, std::size_t most);

/// pyspider's track of a crawl.
[[nodiscard]] std::string to_track(const fetched& f, const script_answer& a);

} // namespace lycosa::crawl
