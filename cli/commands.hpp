#pragma once

#include "cli/context.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

/// One function a command group, one file each. To add a group: declare its function here, name it
/// in `build_app` (app.cpp), and describe it in docs/lycosa.1.
namespace lycosa::cli {

void add_serve(CLI::App& app, context& ctx);
void add_config(CLI::App& app, context& ctx);
void add_project(CLI::App& app, context& ctx);
void add_task(CLI::App& app, context& ctx);
void add_store(CLI::App& app, context& ctx); ///< check, stats, backup, restore
void add_bench(CLI::App& app, context& ctx); ///< load generator
void add_trigger(CLI::App& app, context& ctx);
void add_job(CLI::App& app, context& ctx);
void add_events(CLI::App& app, context& ctx);
void add_one(CLI::App& app, context& ctx);
void add_shell(CLI::App& app, context& ctx);
void add_migrate(CLI::App& app, context& ctx); ///< import, export
void add_cluster(CLI::App& app, context& ctx);
void add_completion(CLI::App& app, context& ctx);

/// The whole command tree.
std::unique_ptr<CLI::App> build_app(context& ctx);

/// Makes `command` run `action(options)` when it is chosen. `Options` holds what the command's
/// options are bound to; it lives as long as the app.
template <class Action>
void on_run(CLI::App* command, context& ctx, Action action) {
  command->callback([&ctx, action] { ctx.action = action; });
}

/// Options that several groups share.
struct server_options {
  std::string url = "http://127.0.0.1:8040";
  bool json = false;
};
void add_server_option(CLI::App* command, server_options& options);
void add_json_option(CLI::App* command, server_options& options);

} // namespace lycosa::cli
