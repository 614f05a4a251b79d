#pragma once

#include <string>
#include <string_view>

namespace lycosa::gateway {

/// Appends bytes as a JSON string. What is not UTF-8 becomes `[BASE64-DATA]…[/BASE64-DATA]`, which
/// is how pyspider's queues and databases write it.
void append_bytes_as_text(std::string& to, std::string_view bytes);

} // namespace lycosa::gateway
