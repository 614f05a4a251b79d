#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace lycosa::jobs {

/// Whom an `actor` action is for: `NAME`, registered in this process, or `NAME@HOST:PORT`,
/// registered with the CAF system that listens there. An IPv6 address is in brackets.
struct actor_name {
  std::string name;       ///< 1 to 10 letters, digits and underscores: what CAF's registry takes
  std::string host;       ///< name or address, without brackets; empty = this process
  std::uint16_t port = 0; ///< 0 = this process

  [[nodiscard]] bool remote() const { return !host.empty(); }
  /// `HOST:PORT`, as it is written.
  [[nodiscard]] std::string endpoint() const;

  friend bool operator==(const actor_name&, const actor_name&) = default;
};

/// Fails with `invalid_argument` about `field`, and which part is wrong.
[[nodiscard]] result<actor_name> parse_actor_name(std::string_view text,
                                                  std::string_view field = "name");

} // namespace lycosa::jobs
