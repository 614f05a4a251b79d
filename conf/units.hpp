#pragma once

#include "conf/settings.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace lycosa::conf {

/// Reads `250ms 5s 10m 24h 7d` (also `us`, and decimals: `1.5s`), or a bare number of seconds.
/// Errors: `invalid_argument`, for what is no duration, negative, or past 100 years.
[[nodiscard]] result<usec> parse_duration(std::string_view text);
[[nodiscard]] result<usec> seconds_to_duration(double seconds);

/// The shortest exact spelling, e.g. `10m`.
[[nodiscard]] std::string format_duration(usec d);

/// Reads `64MiB`, `512KiB`, `1GiB`, `2TiB`, `100B`, or a bare number of bytes.
[[nodiscard]] result<bytes> parse_size(std::string_view text);
[[nodiscard]] std::string format_size(bytes b);

struct endpoint {
  std::string host; ///< without brackets
  std::uint16_t port = 0;
};
/// Reads `HOST:PORT`; an IPv6 address stands in brackets. Port 0 is allowed: any free one.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

} // namespace lycosa::conf
