#pragma once

#include <string>

namespace lycosa::jobs {

/// A program's answer as the value of a run: itself if it is JSON, else the JSON string of it
/// (bytes that are no UTF-8 replaced); empty stays empty.
[[nodiscard]] std::string value_text(std::string answer);

} // namespace lycosa::jobs
