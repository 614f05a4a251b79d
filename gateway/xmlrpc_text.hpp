#pragma once

#include "core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

/// XML-RPC as text: calls in, answers out. Values are JSON in between, so that what comes in
/// passes the same checks as over HTTP. (xmlrpc.com/spec, with the nil extension of ws.apache.org)
namespace lycosa::gateway {

/// Codes of the "Specification for Fault Code Interoperability".
enum class fault_code : int {
  parse_error = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  internal = -32603,
};

struct xmlrpc_fault {
  fault_code code = fault_code::internal;
  std::string text;
};

struct xmlrpc_call {
  std::string method;
  std::vector<std::string> params; ///< JSON texts
};

/// Deepest nesting of values that is followed.
inline constexpr int deepest_value = 60;
/// Values in one call at most.
inline constexpr int most_values = 1'000'000;

/// Reads a call. Documents with a DOCTYPE are refused, so there are no entities to expand.
[[nodiscard]] tl::expected<xmlrpc_call, xmlrpc_fault> parse_call(std::string_view body);

/// An answer with one value, given as JSON. Whole numbers beyond 32 bits become `i8`; characters
/// XML cannot carry become U+FFFD.
[[nodiscard]] std::string write_xmlrpc(std::string_view json);
[[nodiscard]] std::string write_xmlrpc(const xmlrpc_fault& fault);

} // namespace lycosa::gateway
