#include "cli/commands.hpp"
#include "cli/shell.hpp"

namespace lycosa::cli {

void add_shell(CLI::App& app, context& ctx) {
  struct shell_options : server_options {
    std::string project;
  };
  auto o = std::make_shared<shell_options>();
  auto* command = app.add_subcommand("shell", "Look tasks up and queue them, one at a time");
  command->add_option("PROJECT", o->project, "The project meant where none is named");
  add_server_option(command, *o);
  command->footer(
      "Reads lines from a terminal, or a script from standard input:\n"
      "  crawl(\"http://example.org/\", project=\"news\", callback=\"page\")\n"
      "  show(\"http://example.org/\")\n"
      "  quit_interactive()\n"
      "help() lists the commands. `lycosa one --interactive` has them with a fetcher and\n"
      "scripts behind.");
  on_run(command, ctx, [o, &ctx] {
    shell s{o->url, o->project, {}, ctx};
    return s.run() == shell::ending::failed ? int{failed} : int{done};
  });
}

} // namespace lycosa::cli
