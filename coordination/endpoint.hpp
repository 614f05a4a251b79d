#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace lycosa::coordination {

/// Where a server is asked.
struct endpoint {
  bool tls = false;
  std::string host; ///< a name or an address, without brackets
  std::uint16_t port = 0;

  /// As a person would write it.
  [[nodiscard]] std::string text() const;
};

/// http://host:port, https://host:port, host:port. Without a port it is etcd's, 2379.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

} // namespace lycosa::coordination
