#include "cli/files.hpp"
#include "cli/job_cmd.hpp"
#include "cli/job_send.hpp"
#include "cli/job_toml.hpp"
#include "cli/table.hpp"
#include "core/jobs/job_json.hpp"
#include "core/triggers/json.hpp"

#include <chrono>
#include <memory>
#include <ostream>
#include <sstream>

namespace lycosa::cli {

namespace {

struct add_options : server_options {
  std::vector<std::string> words; ///< one file; or a command, when there is a trigger
  std::string id, name, trigger, timezone, shell;
  bool replace = false;
};

result<jobs::job_input> checked(const json& job) {
  return jobs::parse_job(text_for_server(job),
                         std::chrono::floor<usec>(std::chrono::system_clock::now()));
}

/// The jobs of a JSON text: one object, a list of them, or one a line.
outcome<std::vector<json>> jobs_in_json(const std::string& text, const std::string& file) {
  auto whole = json::parse(text, nullptr, false);
  std::vector<json> jobs;
  if (whole.is_object()) {
    jobs.push_back(std::move(whole));
  } else if (whole.is_array()) {
    for (auto& job : whole)
      jobs.push_back(std::move(job));
  } else {
    std::istringstream lines(text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      auto job = json::parse(line, nullptr, false);
      if (!job.is_object())
        return tl::unexpected(failure{bad_input, file + ":" + std::to_string(number),
                                      "is not a JSON object, and the whole is no JSON"});
      jobs.push_back(std::move(job));
    }
  }
  if (jobs.empty()) return tl::unexpected(failure{bad_input, file, "holds no job"});
  return jobs;
}

outcome<std::vector<json>> jobs_in(const std::string& file, context& ctx) {
  const auto text = read_input(file, ctx);
  if (!text) return tl::unexpected(text.error());
  if (!file.ends_with(".toml") && !looks_like_toml(*text)) return jobs_in_json(*text, file);
  auto read = jobs_from_toml(*text, file);
  if (!read) return tl::unexpected(read.error());
  std::vector<json> jobs;
  for (auto& [job, line] : *read) {
    // Here, where the line is known. The node checks again.
    if (const auto ok = checked(job); !ok)
      return tl::unexpected(
          failure{bad_input, file + ":" + std::to_string(line), ok.error().text()});
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// A job whose trigger and command were typed.
outcome<std::vector<json>> typed_job(const add_options& o) {
  const auto wrong = [](std::string what, std::string why) {
    return tl::unexpected(failure{bad_input, std::move(what), std::move(why)});
  };
  if (o.trigger.empty()) return wrong("--trigger", "is missing: when is it to run?");
  if (o.id.empty()) return wrong("--id", "is missing: what is the job to be called?");
  if (o.words.empty() == o.shell.empty())
    return wrong("command", "expected a program with its arguments after --, or --shell");
  const auto spec = trigger::parse_spec_text(o.trigger);
  if (!spec) return wrong("--trigger: " + spec.error().what, spec.error().why);
  json job{{"id", o.id}};
  if (!o.name.empty()) job["name"] = o.name;
  job["trigger"] = json::parse(trigger::to_json(*spec));
  if (!o.timezone.empty()) job["timezone"] = o.timezone;
  job["action"]["type"] = "command";
  if (o.shell.empty())
    job["action"]["argv"] = o.words;
  else
    job["action"]["shell"] = o.shell;
  if (const auto ok = checked(job); !ok) return wrong(ok.error().what, ok.error().why);
  return std::vector{std::move(job)};
}

int add(const add_options& o, context& ctx) {
  const bool typed = !o.id.empty() || !o.trigger.empty() || !o.shell.empty();
  if (!typed && o.words.size() != 1)
    return ctx.complain(
        failure{bad_input, "usage",
                o.words.empty() ? "expected a FILE, or --id, --trigger and a command after --"
                                : "expected one FILE; for a command give --id and --trigger too"});
  if (!typed && (!o.name.empty() || !o.timezone.empty()))
    return ctx.complain(failure{bad_input, "usage",
                                "--name and --tz go with --id and --trigger; a file has its own"});
  auto jobs = typed ? typed_job(o) : jobs_in(o.words.front(), ctx);
  if (!jobs) return ctx.complain(jobs.error());
  client server{o.url};
  int code = done;
  auto answers = json::array();
  for (auto& job : *jobs)
    if (o.replace && job.is_object()) job["replace_existing"] = true;
  send_jobs(server, *jobs, [&](std::size_t index, outcome<json> answer) {
    if (!answer) {
      const auto& why = answer.error();
      const auto& job = (*jobs)[index];
      std::string id = "job";
      if (job.is_object() && job.contains("id") && job["id"].is_string()) id = job["id"];
      code =
          ctx.complain(why.code == unreachable ? why : failure{why.code, printable(id), why.why});
    } else if (o.json) {
      answers.push_back(std::move(*answer));
    } else {
      ctx.out << text_of(*answer, "id") << ": next run " << text_of(*answer, "next_run_time")
              << '\n';
    }
    return true;
  });
  if (code == unreachable) return code;
  if (o.json) ctx.out << text_for_server(answers) << '\n';
  ctx.out << std::flush;
  return code;
}

} // namespace

void add_job_adding(CLI::App* group, context& ctx) {
  auto o = std::make_shared<add_options>();
  auto* command = group->add_subcommand("add", "Add the jobs of a file, or one command");
  command
      ->add_option("FILE", o->words,
                   "JSON (one job, a list, or one a line) or TOML (tables [[job]]); - = standard "
                   "input. With --trigger: the command, after --")
      ->type_name("| -- COMMAND [ARG]...");
  command->add_option("--id", o->id, "Id of the job");
  command->add_option("--trigger", o->trigger, "When: as for lycosa trigger next")
      ->type_name("SPEC");
  command->add_option("--shell", o->shell, "A line for /bin/sh instead of a program")
      ->type_name("TEXT");
  command->add_option("--name", o->name, "What people call it");
  command->add_option("--tz", o->timezone, "Time zone of the trigger; unset: the node's")
      ->type_name("ZONE");
  command->add_flag("--replace", o->replace, "Replace jobs whose ids are there already");
  add_server_option(command, *o);
  add_json_option(command, *o);
  command->footer(
      "Examples:\n"
      "  lycosa job add examples/jobs/nightly-backup.json\n"
      "  lycosa job add examples/jobs/reports.toml --replace\n"
      "  lycosa job add --id alive --trigger '*/5 * * * *' -- curl -fsS https://example.org/\n"
      "  lycosa job add --id tidy --trigger @daily --tz Europe/Berlin --shell 'rm -f /tmp/x.*'");
  on_run(command, ctx, [o, &ctx] { return add(*o, ctx); });
}

} // namespace lycosa::cli
