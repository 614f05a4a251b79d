#pragma once

#include "gateway/http.hpp"

#include <string>
#include <string_view>

/// The bytes around a response's body.
namespace lycosa::gateway {

/// How an answer is sent.
struct framing {
  bool keep = true;   ///< the connection goes on after it
  bool chunks = true; ///< the client understands chunks (HTTP/1.1)
  bool parts = false; ///< the length is not known beforehand
};

/// Status line and headers, with the empty line that ends them. Room for a short body is reserved.
[[nodiscard]] std::string response_head(const response& r, const framing& how);

/// Adds a part of a body, as a chunk if `chunks`.
void append_part(std::string& out, std::string_view part, bool chunks);

/// What ends a body in chunks.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// A body below this goes out in one piece with its head.
inline constexpr std::size_t short_body = 16 * 1024;

} // namespace lycosa::gateway
