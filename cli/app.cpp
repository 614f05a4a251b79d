#include "cli/app.hpp"

#include "cli/commands.hpp"
#include "cli/version.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

namespace lycosa::cli {

namespace {

constexpr auto examples = R"(Examples:
  lycosa serve                                  run a node here, data in ./data
  lycosa project put docs --status RUNNING --rate 10 --burst 20
  lycosa task submit urls.ndjson                one JSON task a line
  lycosa task ls docs --status failed
  lycosa COMMAND --help                         options and examples of one command

Exit status: 0 done, 1 failed, 2 usage or invalid input, 3 server unreachable.
Manual: man lycosa (docs/lycosa.1). Configuration: lycosa config print.)";

/// One line for what CLI11 may spread over several.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

/// `lycosa` and the commands named so far, e.g. `lycosa task`: where --help tells more.
std::string chosen(const CLI::App* app) {
  std::string path = "lycosa";
  for (auto subs = app->get_subcommands(); !subs.empty(); subs = app->get_subcommands()) {
    app = subs.front();
    path += " " + app->get_name();
  }
  return path;
}

} // namespace

int context::complain(const failure& f) const {
  err << "lycosa: " << (f.what.empty() ? "" : f.what + ": ") << one_line(f.why) << std::endl;
  return f.code;
}

int context::complain(const error& e) const {
  return complain(failure{exit_code_of(e.code), e.what, e.why});
}

int exit_code_of(errc code) {
  switch (code) {
  case errc::invalid_argument:
  case errc::too_large:
    return bad_input;
  default:
    return failed;
  }
}

void add_server_option(CLI::App* command, server_options& options) {
  command->add_option("--server", options.url, "Address of the node; also from LYCOSA_SERVER")
      ->envname("LYCOSA_SERVER")
      ->type_name("URL")
      ->capture_default_str();
}

void add_json_option(CLI::App* command, server_options& options) {
  command->add_flag("--json", options.json, "Print JSON for programs instead of a table");
}

std::unique_ptr<CLI::App> build_app(context& ctx) {
  auto app = std::make_unique<CLI::App>("Lycosa schedules crawls: it takes tasks, drops "
                                        "duplicates, keeps each project's rate, hands\n"
                                        "tasks to fetchers under a lease, and retries what fails.",
                                        "lycosa");
  app->get_formatter()->column_width(34);
  app->set_version_flag("--version", std::string{"lycosa "} + version, "Print the version");
  app->require_subcommand(1);

  add_serve(*app, ctx);
  add_config(*app, ctx);
  add_project(*app, ctx);
  add_task(*app, ctx);
  add_store(*app, ctx);
  add_bench(*app, ctx);
  add_trigger(*app, ctx);
  add_job(*app, ctx);
  add_events(*app, ctx);
  add_one(*app, ctx);
  add_shell(*app, ctx);
  add_migrate(*app, ctx);
  add_cluster(*app, ctx);
  add_completion(*app, ctx);
  app->footer(examples); // last: commands made before would inherit it
  return app;
}

int run(std::vector<std::string> args, context& ctx) {
  auto app = build_app(ctx);
  std::ranges::reverse(args); // as CLI11 wants them
  try {
    app->parse(args);
  } catch (const CLI::Success& e) {
    std::ostringstream unused;
    return app->exit(e, ctx.out, unused);
  } catch (const CLI::ParseError& e) {
    auto where = chosen(app.get());
    return ctx.complain(
        failure{bad_input, "usage", one_line(e.what()) + " (see " + where + " --help)"});
  }
  return ctx.action ? ctx.action() : done;
}

} // namespace lycosa::cli
