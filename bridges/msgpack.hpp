#pragma once

#include "core/result.hpp"

#include <string>
#include <string_view>

/// MessagePack, as pyspider's queues carry it. Read by a transcoder of its own: the libraries at
/// hand either refuse maps with integer keys, which pyspider's `retry_delay` has, or allocate what
/// a hostile header claims before they look at what is there.
namespace lycosa::bridges {

/// Deepest nesting that is followed.
inline constexpr int deepest_message = 64;

/// Appends one MessagePack value as JSON text. The whole of `body` must be the value. Both string
/// and binary count as text (Python 2 packs text as binary); what is not UTF-8 becomes
/// `[BASE64-DATA]…[/BASE64-DATA]`, which is how pyspider writes it. Keys of maps become text.
/// Not-a-number and infinities become null, as JSON has none. Errors: `invalid_argument` with the
/// byte at which the value cannot be read (truncated, extension types, too deep, trailing bytes).
[[nodiscard]] result<void> append_as_json(std::string& json, std::string_view body);

/// One JSON value as MessagePack: text as `str`, whole numbers as integers, others as float.
/// Errors: `invalid_argument` when `json` is none.
[[nodiscard]] result<std::string> to_msgpack(std::string_view json);

} // namespace lycosa::bridges
