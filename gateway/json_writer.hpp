#pragma once

#include <string>
#include <string_view>

namespace lycosa::gateway {

/// Appends `text` as a JSON string. Precondition: valid UTF-8.
void append_string(std::string& to, std::string_view text);

/// Appends `"key":`, after a comma unless it is the first member.
void append_key(std::string& to, std::string_view key);

} // namespace lycosa::gateway
