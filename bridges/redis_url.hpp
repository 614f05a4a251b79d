#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace lycosa::bridges {

/// Where a Redis server is and how to get in.
struct redis_address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket; ///< path; not empty = instead of host and port
  std::string user;        ///< empty = the default one
  std::string password;    ///< empty = none
  std::uint32_t database = 0;
  bool tls = false;
  std::string ca_file; ///< PEM; empty = the system's authorities
  bool verify = true;  ///< the certificate and its name

  /// For logs: without the password.
  [[nodiscard]] std::string display() const;
};

/// `redis://[user:password@]host[:port][/db]`, `rediss://…` with TLS (`?ca=FILE`, `?verify=no`),
/// `unix:///path/to.sock[?db=N]`. Errors name what is wrong; never the password.
[[nodiscard]] result<redis_address> parse_redis_url(std::string_view url);

} // namespace lycosa::bridges
