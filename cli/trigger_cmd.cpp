#include "cli/commands.hpp"
#include "core/triggers/preview.hpp"

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace lycosa::cli {

namespace {

struct next_options {
  std::vector<std::string> words;
  std::string timezone, from, previous;
  std::size_t count = 10;
  bool explain = false;
};

int next(const next_options& options, context& ctx) {
  std::string text;
  for (const auto& word : options.words)
    text += (text.empty() ? "" : " ") + word;
  const auto spec = trigger::parse_spec_text(text);
  if (!spec) return ctx.complain(spec.error());

  trigger::preview_request request;
  request.default_zone = trigger::zone::local();
  if (!options.timezone.empty()) request.timezone = options.timezone;
  if (!options.from.empty()) request.from = options.from;
  if (!options.previous.empty()) request.previous = options.previous;
  request.count = options.count;
  const auto now = std::chrono::floor<usec>(std::chrono::system_clock::now());
  const auto answer = trigger::preview(*spec, request, now);
  if (!answer) return ctx.complain(answer.error());

  if (options.explain) ctx.out << answer->meaning << '\n';
  for (const auto& t : answer->times)
    ctx.out << t << '\n';
  ctx.out << std::flush;
  return done;
}

} // namespace

void add_trigger(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("trigger", "Try out when jobs run (no node needed)");
  group->require_subcommand(1);

  auto options = std::make_shared<next_options>();
  auto* command = group->add_subcommand("next", "Print the next times a trigger fires");
  command
      ->add_option("SPEC", options->words,
                   "A JSON trigger, five crontab fields, @daily and the like, 'every 90s', or "
                   "'oncalendar: Mon..Fri 09:00'")
      ->required()
      ->type_name("SPEC");
  command
      ->add_option("--tz", options->timezone,
                   "Time zone of triggers that name none; unset: this machine's")
      ->type_name("ZONE");
  command->add_option("--from", options->from, "Times not before this; unset: now")
      ->type_name("ISO");
  command->add_option("--previous", options->previous, "The run before: only times after it")
      ->type_name("ISO");
  command->add_option("-n", options->count, "How many times")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--explain", options->explain, "Say first, in words, what the trigger means");
  command->footer(
      "One time a line, ISO 8601 with offset; fewer when the trigger ends, none when it "
      "never fires.\n\nExamples:\n"
      "  lycosa trigger next '30 2 * * mon-fri' --tz Europe/Berlin --explain\n"
      "  lycosa trigger next 'every 90s' -n 3\n"
      "  lycosa trigger next '{\"type\":\"cron\",\"day\":\"last fri\",\"hour\":17}'");
  on_run(command, ctx, [options, &ctx] { return next(*options, ctx); });
}

} // namespace lycosa::cli
