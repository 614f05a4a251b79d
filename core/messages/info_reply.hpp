#pragma once

#include "core/project.hpp"
#include "core/result.hpp"

#include <string_view>

namespace lycosa {

/// What `_on_get_info` asks for.
inline constexpr std::string_view info_attributes =
    R"({"save":["min_tick","retry_delay","crawl_config"]})";

/// Reads the answer to `_on_get_info`: the values under `save` of a report's track (JSON text).
/// Absent, null or empty means "none of them", which pyspider's test 16 accepts. Values:
/// `min_tick` seconds ≥ 0; `retry_delay` {"0": seconds, …, "": seconds} (integers may come as keys
/// from MessagePack, as text from JSON); `crawl_config` an object. Errors name the value; then
/// nothing of the answer counts.
[[nodiscard]] result<project_patch> read_info_reply(std::string_view track);

} // namespace lycosa
