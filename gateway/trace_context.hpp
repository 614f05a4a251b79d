#pragma once

#include <string_view>

namespace lycosa::gateway {

/// The trace that a request is part of: the trace-id of its `traceparent` (W3C Trace Context), of
/// this version or a later one. Empty if that says nothing, or not what it should; so what comes
/// out is 32 hex digits, and safe to write to a log.
[[nodiscard]] std::string_view trace_id(std::string_view traceparent);

} // namespace lycosa::gateway
