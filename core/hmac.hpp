#pragma once

#include <string>
#include <string_view>

namespace lycosa {

/// HMAC-SHA256 (RFC 2104): 32 bytes. Throws std::bad_alloc when the library has no memory.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view text);

/// Compares without telling by its time where they differ.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b) noexcept;

} // namespace lycosa
