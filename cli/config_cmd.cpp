#include "cli/commands.hpp"
#include "cli/listeners.hpp"
#include "cli/settings_options.hpp"
#include "cli/table.hpp"
#include "conf/print.hpp"

#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace lycosa::cli {

namespace {

/// As the contract has it: `file:line: key: reason`, one line each.
int tell(context& ctx, const std::vector<conf::problem>& problems) {
  for (const auto& p : problems)
    ctx.complain(failure{bad_input, "", p.text()});
  return bad_input;
}

int check(const std::string& file, context& ctx) {
  conf::load_request request;
  request.file = file;
  auto loaded = conf::load(request);
  if (!loaded) {
    // A checker's output is read by editors: the bare form, without the program's name.
    for (const auto& p : loaded.error())
      ctx.err << p.text() << '\n';
    ctx.err.flush();
    return bad_input;
  }
  for (const auto& w : loaded->warnings)
    ctx.err << w.text() << '\n';
  // What serve would refuse only when it has come up.
  const auto wrong = check_listeners(loaded->values.events);
  for (const auto& e : wrong) {
    const auto second_dot = e.what.find('.', e.what.find('.') + 1);
    const auto where = loaded->source_of(std::string_view(e.what).substr(0, second_dot));
    ctx.err << printable(conf::problem{where, e.what, e.why}.text()) << '\n';
  }
  if (!wrong.empty()) {
    ctx.err.flush();
    return bad_input;
  }
  ctx.out << file << ": good\n" << std::flush;
  return done;
}

} // namespace

void add_settings_options(CLI::App* command, settings_options& options) {
  command
      ->add_option("--config", options.config,
                   "Configuration file (TOML); unset: ./conf/lycosa.toml, then "
                   "/etc/lycosa/lycosa.toml, then the defaults")
      ->type_name("FILE");
  command
      ->add_option("--set", options.sets,
                   "Set one key, e.g. --set http.max_body=8MiB; may be repeated; beats the "
                   "environment (LYCOSA_SECTION__KEY), which beats the file")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::optional<conf::loaded> load_settings(const settings_options& options, context& ctx) {
  conf::load_request request;
  if (!options.config.empty()) request.file = options.config;
  request.environment = conf::process_environment();
  request.sets = options.sets;
  auto loaded = conf::load(request);
  if (loaded) return std::move(*loaded);
  tell(ctx, loaded.error());
  return std::nullopt;
}

void add_config(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("config", "Check and show the configuration");
  group->require_subcommand(1);

  auto file = std::make_shared<std::string>();
  auto* check_command = group->add_subcommand("check", "Validate a configuration file");
  check_command->add_option("FILE", *file, "File to check")->required();
  check_command->footer("Prints every problem as file:line: key: reason and exits with 2.\n\n"
                        "Example:\n  lycosa config check /etc/lycosa/lycosa.toml");
  on_run(check_command, ctx, [file, &ctx] { return check(*file, ctx); });

  auto options = std::make_shared<settings_options>();
  auto reference = std::make_shared<bool>(false);
  auto* print_command = group->add_subcommand(
      "print",
      "Print the effective configuration, each key with its meaning, unit, range, default");
  add_settings_options(print_command, *options);
  auto sources = std::make_shared<bool>(false);
  print_command->add_flag("--sources", *sources, "Say where each value that was set comes from");
  print_command->add_flag("--reference", *reference,
                          "Print every key at its default instead (conf/reference.toml)");
  print_command->footer("The output is a configuration file itself.\n\n"
                        "Example:\n  lycosa config print --set storage.shards=8 > my.toml");
  on_run(print_command, ctx, [options, reference, sources, &ctx] {
    if (*reference) {
      ctx.out << conf::reference() << std::flush;
      return int{done};
    }
    auto loaded = load_settings(*options, ctx);
    if (!loaded) return int{bad_input};
    ctx.out << conf::print(*loaded, {.sources = *sources}) << std::flush;
    return int{done};
  });
}

} // namespace lycosa::cli
