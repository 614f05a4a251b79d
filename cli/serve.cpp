#include "cli/commands.hpp"
#include "cli/freed_memory.hpp"
#include "cli/logging.hpp"
#include "cli/node_settings.hpp"
#include "cli/open_files.hpp"
#include "cli/scheduler.hpp"
#include "cli/serve_cluster.hpp"
#include "cli/serve_parts.hpp"
#include "cli/settings_options.hpp"
#include "cli/signals.hpp"
#include "cli/version.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::cli {

namespace {

struct serve_options : settings_options {
  std::string data;
  std::string listen;
};

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

  if (s.cluster.mode != "single") return serve_in_cluster(config, ctx);

  auto running = scheduler::start(s, to_node_config(s));
  if (!running) return ctx.complain(running.error());
  auto& node = (*running)->node();
  auto front = gateway::server::start(*front_config, node);
  if (!front) {
    (*running)->stop();
    return ctx.complain(front.error());
  }
  auto http = endpoint_text(front_config->host, (*front)->port());
  spdlog::info("serves HTTP on {}", http);
  auto rpc = start_xmlrpc(s, [&](const gateway::server_config& c) {
    return gateway::server::start_xmlrpc(c, node, quit_once());
  });
  const auto stop_all = [&] {
    (*running)->stop_bridges();
    if (rpc && *rpc) (*rpc)->stop(serve_grace);
    (*front)->stop(serve_grace);
    (*running)->stop();
  };
  if (!rpc) {
    stop_all();
    return ctx.complain(rpc.error());
  }
  const auto xmlrpc = *rpc ? endpoint_text(to_xmlrpc_config(s)->host, (*rpc)->port()) : "off";
  if (auto ok = (*running)->start_bridges(s, front_config->limits); !ok) {
    stop_all();
    return ctx.complain(ok.error());
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
