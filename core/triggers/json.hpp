#pragma once

#include "core/triggers/spec.hpp"

#include <string_view>

namespace lycosa::trigger {

/// Reads a TRIGGER object. Members may be strings or numbers; null counts as left out. Unknown
/// kinds of value are refused here, unknown members by `compile`.
[[nodiscard]] result<spec> parse_json(std::string_view text);

/// The TRIGGER object, on one line, members in the order of their names after `type`.
[[nodiscard]] std::string to_json(const spec& s);

} // namespace lycosa::trigger
