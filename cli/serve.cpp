#include "cli/commands.hpp"
#include "cli/freed_memory.hpp"
#include "cli/listeners.hpp"
#include "cli/logging.hpp"
#include "cli/node_settings.hpp"
#include "cli/open_files.hpp"
#include "cli/settings_options.hpp"
#include "cli/signals.hpp"
#include "cli/version.hpp"
#include "executors/command_executor.hpp"
#include "executors/http_executor.hpp"
#include "gateway/task_executor.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::cli {

namespace {

/// Time that answers under way get at the end; with the commits after it within 5 s.
constexpr std::chrono::seconds grace{2};

struct serve_options : settings_options {
  std::string data;
  std::string listen;
};

/// Host and port as a client writes them.
std::string address(const std::string& host, std::uint16_t port) {
  auto bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return bracketed + ":" + std::to_string(port);
}

/// The one line that programs wait for on standard output.
void tell_ready(const std::string& http, const std::string& xmlrpc, const conf::settings& s,
                context& ctx) {
  ctx.out << "lycosa ready http=" << http << " xmlrpc=" << xmlrpc << " node=" << s.node.name
          << " data=" << (s.node.data.empty() ? "(memory)" : s.node.data) << std::endl;
}

/// None: it is switched off, or the default's port is taken (a second node on this machine).
result<std::unique_ptr<gateway::server>> start_xmlrpc(const conf::settings& s, actors::node& node) {
  if (!s.xmlrpc.enabled) return nullptr;
  auto config = to_xmlrpc_config(s);
  if (!config) return tl::unexpected(config.error());
  auto asked = std::make_shared<std::atomic_flag>();
  auto started = gateway::server::start_xmlrpc(*config, node, [asked] {
    // As the signal does; a second one would end the process at once.
    if (!asked->test_and_set()) ::kill(::getpid(), SIGTERM);
  });
  if (started) {
    spdlog::info("serves XML-RPC on {}", address(config->host, (*started)->port()));
    return started;
  }
  if (started.error().code != errc::io_error || s.xmlrpc.listen != conf::xmlrpc_settings{}.listen)
    return started;
  spdlog::warn("no XML-RPC: {}", started.error().text());
  return nullptr;
}

int serve(const conf::loaded& config, context& ctx) {
  const auto& s = config.values;
  auto front_config = to_server_config(s);
  if (!front_config) return ctx.complain(front_config.error());

  keep_freed_memory();
  // Before any thread exists, so that every thread inherits the mask.
  block_signals();
  if (auto ok = start_logging(s.log); !ok) return ctx.complain(ok.error());
  spdlog::info("lycosa {} starts: node {}, data {}, configuration {}", version, s.node.name,
               s.node.data.empty() ? "in memory" : s.node.data,
               config.file.empty() ? "defaults" : config.file);
  for (const auto& w : config.warnings)
    spdlog::warn("{}", w.text());

  // Each connection is a file; the data, the log and the libraries take some more.
  auto files = s.http.max_connections + 64 + 8 * std::max<std::uint64_t>(s.storage.shards, 16);
  if (auto limit = raise_open_files(files); limit < files)
    spdlog::warn("at most {} open files (ulimit -n), {} may be wanted: lower http.max_connections",
                 limit, files);

  auto node_config = to_node_config(s);
  auto commands = executors::make_command_executor();
  auto requests = executors::make_http_executor();
  if (!commands || !requests) return ctx.complain(!commands ? commands.error() : requests.error());
  const auto tasks = gateway::task_executor::make();
  node_config.jobs.executors.command = std::move(*commands);
  node_config.jobs.executors.http = std::move(*requests);
  node_config.jobs.executors.task = tasks;
  auto node = actors::node::open(node_config);
  if (!node) return ctx.complain(node.error());
  tasks->attach(**node);
  listeners told;
  if (auto ok = told.start(s.events, (*node)->events()); !ok) {
    (*node)->stop();
    return ctx.complain(ok.error());
  }
  auto front = gateway::server::start(*front_config, **node);
  if (!front) {
    (*node)->stop();
    return ctx.complain(front.error());
  }
  auto http = address(front_config->host, (*front)->port());
  spdlog::info("serves HTTP on {}", http);
  auto rpc = start_xmlrpc(s, **node);
  if (!rpc) {
    (*front)->stop(grace);
    (*node)->stop();
    return ctx.complain(rpc.error());
  }
  const auto xmlrpc = *rpc ? address(to_xmlrpc_config(s)->host, (*rpc)->port()) : "off";
  std::vector<std::unique_ptr<bridges::bridge>> queues;
  const auto add = [&](result<std::unique_ptr<bridges::bridge>> started) -> result<void> {
    if (!started) return tl::unexpected(started.error());
    queues.push_back(std::move(*started));
    return {};
  };
  result<void> bridged;
  if (!s.redis.url.empty())
    bridged = add(bridges::start_redis(to_redis_config(s, front_config->limits), **node));
  if (bridged && !s.amqp.url.empty())
    bridged = add(bridges::start_amqp(to_amqp_config(s, front_config->limits), **node));
  const auto stop_all = [&] {
    for (auto& q : queues)
      q->stop();
    if (*rpc) (*rpc)->stop(grace);
    (*front)->stop(grace);
    (*node)->stop();
    told.stop();
  };
  if (!bridged) {
    stop_all();
    return ctx.complain(bridged.error());
  }
  tell_ready(http, xmlrpc, s, ctx);

  wait_for_stop([] { spdlog::warn("SIGHUP: the configuration is read at start only"); });
  spdlog::info("stops: no new requests; another signal stops at once");
  stop_all();
  spdlog::info("stopped");
  return done;
}

} // namespace

void add_serve(CLI::App& app, context& ctx) {
  auto options = std::make_shared<serve_options>();
  auto* command = app.add_subcommand("serve", "Run a node until SIGINT or SIGTERM");
  add_settings_options(command, *options);
  command->add_option("--data", options->data, "Data directory (node.data)")->type_name("DIR");
  command->add_option("--listen", options->listen, "HTTP address (http.listen); port 0 = any free")
      ->type_name("HOST:PORT");
  command->footer(
      "Prints one line on standard output when it takes requests:\n"
      "  lycosa ready http=HOST:PORT xmlrpc=HOST:PORT|off node=NAME data=DIR\n"
      "SIGINT or SIGTERM: stops taking requests, finishes what is under way, exits with 0; a "
      "second\n"
      "one exits at once. What was answered with success is on disk either way.\n\n"
      "A browser shows the dashboard at http://HOST:PORT/.\n\n"
      "Examples:\n"
      "  lycosa serve --data /var/lib/lycosa --listen 127.0.0.1:8040\n"
      "  lycosa serve --config conf/throughput.toml --set log.levels='{ http = \"debug\" }'");
  on_run(command, ctx, [options, &ctx] {
    auto all = *options;
    if (!all.data.empty()) all.sets.push_back("node.data=" + all.data);
    if (!all.listen.empty()) all.sets.push_back("http.listen=" + all.listen);
    auto config = load_settings(all, ctx);
    return config ? serve(*config, ctx) : int{bad_input};
  });
}

} // namespace lycosa::cli
