#pragma once

#include "core/result.hpp"
#include "gateway/outline.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace lycosa::gateway {

/// How the items of a body were put together.
enum class list_form : std::uint8_t { single, array, lines };

/// Walks a body that is a JSON list, one JSON object, or objects line by line (`lines`: the client
/// said so; otherwise several objects on lines of their own are recognised).
///
/// `each(index, item)` is called for an item that was read, `bad(index, why)` for one that was
/// not: in a list, JSON that cannot be kept; where lines were announced, also a line that is no
/// JSON. Errors (nothing of the body is to be used then): `invalid_argument` when the body is not
/// JSON, not UTF-8 or of another type, `too_large` past `max_items`.
result<list_form> walk_items(std::string_view body, bool lines, outline& item,
                             std::size_t max_items,
                             const std::function<void(std::size_t, const outline&)>& each,
                             const std::function<void(std::size_t, const std::string&)>& bad);

/// Reads a body that must be one object without duplicate keys.
result<void> read_object(std::string_view body, outline& into);

/// Whether `text` is valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

} // namespace lycosa::gateway
