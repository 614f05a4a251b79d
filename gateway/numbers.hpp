#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa::gateway {

/// Numbers of JSON texts, without a detour over floating point where microseconds count.

/// The value of an integer written without fraction and exponent; none if it is not one or does
/// not fit.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view number) noexcept;

/// What is said of a value that is no integer from `low` to `high`.
[[nodiscard]] std::string integer_reason(std::int64_t low, std::int64_t high);

/// Whether a number is written as more or less than nothing: rounded to a microsecond it may have
/// become 0 nevertheless, where 0 means something else.
[[nodiscard]] bool is_written_nonzero(std::string_view number) noexcept;

/// Seconds as written (fraction and exponent allowed), to the nearest microsecond. None if the
/// value is beyond ±10^12 seconds. Precondition: a valid JSON number.
[[nodiscard]] std::optional<usec> parse_seconds(std::string_view number) noexcept;

/// The nearest double; none if it is out of range. Precondition: a valid JSON number.
[[nodiscard]] std::optional<double> parse_double(std::string_view number) noexcept;

/// Appends seconds with up to six decimals, exactly.
void append_seconds(std::string& to, usec time);
void append_integer(std::string& to, std::int64_t value);
void append_unsigned(std::string& to, std::uint64_t value);
/// The shortest text that reads back as the same value.
void append_double(std::string& to, double value);

} // namespace lycosa::gateway
