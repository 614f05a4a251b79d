#pragma once

#include "core/result.hpp"

#include <caf/io/all.hpp>

#include <cstdint>
#include <string>

/// Brokers' connections over TLS, with certificates of both sides. The actor system has loaded
/// `caf::openssl::manager` and names the files in its configuration.
namespace lycosa::actors {

/// For a connected socket, which it owns from then on; none when TLS cannot be set up.
[[nodiscard]] caf::io::scribe_ptr tls_scribe(caf::actor_system& system, int socket);

/// Listens; every connection it accepts is a TLS one.
[[nodiscard]] caf::expected<caf::io::doorman_ptr>
tls_doorman(caf::actor_system& system, const std::string& host, std::uint16_t port);

/// Whether the files can be used.
[[nodiscard]] result<void> check_tls(caf::actor_system& system);

} // namespace lycosa::actors
