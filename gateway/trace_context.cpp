#include "gateway/trace_context.hpp"

namespace lycosa::gateway {

namespace {

bool is_hex(std::string_view s) {
  return s.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Zeros stand for no id.
bool is_id(std::string_view s) {
  return is_hex(s) && s.find_first_not_of('0') != std::string_view::npos;
}

} // namespace

std::string_view trace_id(std::string_view traceparent) {
  // version "-" trace-id "-" parent-id "-" flags
  constexpr std::size_t length = 2 + 1 + 32 + 1 + 16 + 1 + 2;
  if (traceparent.size() < length) return {};
  const auto version = traceparent.substr(0, 2);
  const auto trace = traceparent.substr(3, 32);
  const auto parent = traceparent.substr(36, 16);
  const auto flags = traceparent.substr(53, 2);
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return {};
  if (!is_hex(version) || version == "ff" || !is_hex(flags) || !is_id(trace) || !is_id(parent))
    return {};
  // Later versions may add to it.
  if (traceparent.size() > length && (version == "00" || traceparent[length] != '-')) return {};
  return trace;
}

} // namespace lycosa::gateway
