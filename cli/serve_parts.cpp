#include "cli/serve_parts.hpp"

#include "cli/node_settings.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ostream>

namespace lycosa::cli {

std::string endpoint_text(const std::string& host, std::uint16_t port) {
  auto bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return bracketed + ":" + std::to_string(port);
}

void tell_ready(const std::string& http, const std::string& xmlrpc, const conf::settings& s,
                context& ctx) {
  ctx.out << "lycosa ready http=" << http << " xmlrpc=" << xmlrpc << " node=" << s.node.name
          << " data=" << (s.node.data.empty() ? "(memory)" : s.node.data) << std::endl;
}

std::function<void()> quit_once() {
  return [asked = std::make_shared<std::atomic_flag>()] {
    if (!asked->test_and_set()) ::kill(::getpid(), SIGTERM);
  };
}

result<std::unique_ptr<gateway::server>> start_xmlrpc(
    const conf::settings& s,
    const std::function<result<std::unique_ptr<gateway::server>>(const gateway::server_config&)>&
        start) {
  if (!s.xmlrpc.enabled) return nullptr;
  auto config = to_xmlrpc_config(s);
  if (!config) return tl::unexpected(config.error());
  auto started = start(*config);
  if (started) {
    spdlog::info("serves XML-RPC on {}", endpoint_text(config->host, (*started)->port()));
    return started;
  }
  if (started.error().code != errc::io_error || s.xmlrpc.listen != conf::xmlrpc_settings{}.listen)
    return started;
  spdlog::warn("no XML-RPC: {}", started.error().text());
  return nullptr;
}

} // namespace lycosa::cli
