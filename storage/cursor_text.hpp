#pragma once

#include "storage/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The opaque cursors of listings: hexadecimal numbers of fixed length. They name a place in the
/// order, not an entry, so they stay good when entries come and go.
namespace lycosa::storage {

struct list_cursor {
  std::uint8_t status = 0; ///< the status asked for; 0 = all
  std::uint64_t seq = 0;   ///< last one shown
};

[[nodiscard]] std::string to_text(const list_cursor& c);
/// `invalid_argument` for anything `to_text` did not make for a listing of `status`.
[[nodiscard]] result<list_cursor> parse_list_cursor(std::string_view text,
                                                    std::optional<task_status> status);

[[nodiscard]] std::string to_text(const task_hash& last);
/// None for an empty text: the beginning.
[[nodiscard]] result<std::optional<task_hash>> parse_result_cursor(std::string_view text);

} // namespace lycosa::storage
