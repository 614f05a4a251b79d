#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lycosa::cli::bench {

/// One keep-alive connection of the load generator. Blocking; one thread. Thinner than the client
/// of the other commands: what it costs is charged to the server in every figure.
class load_connection {
public:
  /// `host` is numeric.
  static result<std::unique_ptr<load_connection>> open(const std::string& host, std::uint16_t port);
  virtual ~load_connection() = default;

  /// One exchange; the body of a 2xx answer, valid until the next call. Anything else is an error.
  virtual result<std::string_view> send(std::string_view method, std::string_view path,
                                        std::string_view body) = 0;
};

} // namespace lycosa::cli::bench
