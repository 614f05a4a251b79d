#pragma once

#include "core/result.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace lycosa::cli {

/// A call as one writes it in Python: `crawl("http://x/", project="p", priority=3)`.
struct shell_call {
  std::string name;
  std::vector<nlohmann::ordered_json> args;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
};

/// Values are text in either quotes, numbers, True, False, None, lists and dicts. A bare name is a
/// call without arguments. Errors name the column.
[[nodiscard]] result<shell_call> parse_call(std::string_view line);

/// A task for `crawl(url, **options)`: each option where it belongs (schedule, fetch, process or
/// beside the URL). Unknown options are refused.
[[nodiscard]] result<nlohmann::ordered_json> task_of(const shell_call& call);

} // namespace lycosa::cli
