#pragma once

#include "core/triggers/spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace lycosa::trigger {

/// What a person or a client asks about a trigger that no job has yet. All texts as they came in.
struct preview_request {
  std::optional<std::string> timezone; ///< for triggers that name none; unset = `default_zone`
  std::optional<std::string> from;     ///< ISO 8601; a reading without offset is one of the zone's
  std::optional<std::string> previous; ///< ISO 8601: only times after it
  std::size_t count = 10;              ///< how many times, at most `preview_limit`
  zone default_zone{};
};
inline constexpr std::size_t preview_limit = 10'000;

struct preview_answer {
  std::vector<std::string> times; ///< ISO 8601 with the zone's offset; fewer when the trigger ends
  std::string meaning;            ///< the trigger in words
};

/// The next fire times of a trigger, as if it were added at `from` (else at `now`). Errors name
/// the member, as those of `compile` do; `from`, `previous`, `timezone` and `n` are members too.
[[nodiscard]] result<preview_answer> preview(const spec& s, const preview_request& request,
                                             wall_time now);

} // namespace lycosa::trigger
