#pragma once

#include "cli/context.hpp"
#include "conf/settings.hpp"
#include "core/result.hpp"
#include "gateway/server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lycosa::cli {

/// Time that answers under way get at the end; with the commits after it within 5 s.
inline constexpr std::chrono::seconds serve_grace{2};

/// Host and port as a client writes them.
[[nodiscard]] std::string endpoint_text(const std::string& host, std::uint16_t port);

/// The one line that programs wait for on standard output.
void tell_ready(const std::string& http, const std::string& xmlrpc, const conf::settings& s,
                context& ctx);

/// What a client's request to quit calls: as a signal does, once, since a second one would end the
/// process at once.
[[nodiscard]] std::function<void()> quit_once();

/// None: it is switched off, or the default's port is taken (a second node on this machine).
result<std::unique_ptr<gateway::server>> start_xmlrpc(
    const conf::settings& s,
    const std::function<result<std::unique_ptr<gateway::server>>(const gateway::server_config&)>&
        start);

} // namespace lycosa::cli
