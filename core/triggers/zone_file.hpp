#pragma once

#include "core/triggers/posix_tail.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lycosa::trigger::detail {

/// The offsets of one zone through time, as its file in the machine's database tells them.
struct zone_table {
  std::vector<std::int64_t> begins;  ///< Unix seconds, ascending; the first span has no begin
  std::vector<std::int32_t> offsets; ///< seconds east of Greenwich; one more than begins
  std::optional<posix_tail> tail;    ///< the rule after the last of them

  friend bool operator==(const zone_table&, const zone_table&) = default;
};

/// Takes apart the bytes of a TZif file (RFC 9636). Empty when they are not one.
[[nodiscard]] std::optional<zone_table> parse_zone_file(std::string_view bytes);

/// Reads a zone by its name. Empty when the database has no such zone.
[[nodiscard]] std::optional<zone_table> read_zone_file(std::string_view name);

} // namespace lycosa::trigger::detail
