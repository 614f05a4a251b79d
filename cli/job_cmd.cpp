#include "cli/job_cmd.hpp"

#include "cli/job_toml.hpp"
#include "cli/table.hpp"
#include "core/triggers/json.hpp"

#include <memory>
#include <ostream>

namespace lycosa::cli {

namespace {

struct job_options : server_options {
  std::string id, reason, time, changes, from, to, trigger, format;
  std::uint64_t count = 10;
  bool catch_up = false, all = false, yes = false;
};

std::string path_of(const std::string& id) {
  return "/v1/jobs/" + url_encode(id);
}

int remove_all(const job_options& o, context& ctx) {
  if (!o.yes) {
    if (!ctx.in_terminal)
      return ctx.complain(
          {bad_input, "--all", "removes every job and its history; say --yes to confirm"});
    ctx.err << "This removes every job with its history. Type all to go on: " << std::flush;
    std::string typed;
    std::getline(ctx.in, typed);
    if (typed != "all") return ctx.complain({failed, "--all", "nothing removed"});
  }
  client server{o.url};
  auto answer = server.call_json("DELETE", "/v1/jobs?confirm=all");
  if (!answer) return ctx.complain(answer.error());
  ctx.out << answer->dump() << '\n' << std::flush;
  return done;
}

int list(const job_options& o, context& ctx) {
  client server{o.url};
  table t{{{"id"}, {"next run"}, {"state"}, {"trigger"}}};
  const auto listed = list_jobs(server);
  if (!listed) return ctx.complain(listed.error());
  const auto& all = *listed;
  if (o.format == "toml") {
    ctx.out << jobs_to_toml(all) << std::flush;
    return done;
  }
  if (o.json) {
    ctx.out << all.dump() << '\n' << std::flush;
    return done;
  }
  for (const auto& job : all)
    t.add({text_of(job, "id"), text_of(job, "next_run_time"),
           job.value("paused", false)     ? "paused: " + text_of(job, "pause_reason")
           : job.value("finished", false) ? "finished"
                                          : "-",
           text_of(job, "trigger")});
  if (!t.empty()) t.print(ctx.out);
  return done;
}

/// A call whose answer is shown as it is.
int call(const job_options& o, context& ctx, const char* method, const std::string& path,
         const std::string& body = {}) {
  client server{o.url};
  auto answer = server.call_json(method, path, body);
  if (!answer) return ctx.complain(answer.error());
  ctx.out << answer->dump(o.json ? -1 : 2, ' ', false, json::error_handler_t::replace) << '\n'
          << std::flush;
  return done;
}

int history(const job_options& o, context& ctx) {
  client server{o.url};
  auto page = server.call_json("GET", path_of(o.id) + "/runs?limit=" + std::to_string(o.count));
  if (!page) return ctx.complain(page.error());
  if (o.json) {
    ctx.out << (*page)["runs"].dump() << '\n' << std::flush;
    return done;
  }
  table t{{{"run", true}, {"for"}, {"outcome"}, {"late", true}, {"exit", true}, {"reason"}}};
  for (const auto& run : (*page)["runs"])
    t.add({text_of(run, "run"), time_text(run.value("nominal", 0.0)), text_of(run, "outcome"),
           text_of(run, "late"),
           run.contains("exit_code") ? text_of(run, "exit_code") : text_of(run, "http_status"),
           run.contains("error") ? text_of(run, "error") : text_of(run, "reason")});
  if (!t.empty()) t.print(ctx.out);
  return done;
}

int why(const job_options& o, context& ctx) {
  client server{o.url};
  auto answer = server.call_json(
      "GET", path_of(o.id) + "/why" + (o.time.empty() ? "" : "?time=" + url_encode(o.time)));
  if (!answer) return ctx.complain(answer.error());
  ctx.out << (o.json ? answer->dump() : text_of(*answer, "why")) << '\n' << std::flush;
  return done;
}

int reschedule(const job_options& o, context& ctx) {
  const auto spec = trigger::parse_spec_text(o.trigger);
  if (!spec) return ctx.complain(spec.error());
  const auto body = "{\"trigger\":" + trigger::to_json(*spec) + "}";
  return call(o, ctx, "POST", path_of(o.id) + "/reschedule", body);
}

template <class Action>
CLI::App* add_one_job(CLI::App* group, context& ctx, const char* name, const char* what,
                      const std::shared_ptr<job_options>& o, Action action) {
  auto* command = group->add_subcommand(name, what);
  command->add_option("ID", o->id, "The job")->required();
  add_server_option(command, *o);
  add_json_option(command, *o);
  on_run(command, ctx, [o, &ctx, action] { return action(*o, ctx); });
  return command;
}

} // namespace

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string()) {
    const auto text = printable(found->get<std::string>());
    return text.empty() ? "-" : text;
  }
  return printable(found->dump());
}

outcome<json> list_jobs(client& server) {
  auto all = json::array();
  std::string cursor;
  do {
    auto page = server.call_json(
        "GET", "/v1/jobs?limit=1000" + (cursor.empty() ? "" : "&after=" + url_encode(cursor)));
    if (!page) return tl::unexpected(page.error());
    for (auto& job : (*page)["jobs"])
      all.push_back(std::move(job));
    const auto next = page->find("next");
    cursor = next != page->end() && next->is_string() ? next->get<std::string>() : std::string{};
  } while (!cursor.empty());
  return all;
}

void add_job(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("job", "Commands, requests and tasks on a timetable");
  group->require_subcommand(1);

  add_job_adding(group, ctx);
  add_crontab_import(group, ctx);

  auto listing = std::make_shared<job_options>();
  auto* lists = group->add_subcommand("ls", "List all jobs");
  add_server_option(lists, *listing);
  add_json_option(lists, *listing);
  on_run(lists, ctx, [listing, &ctx] { return list(*listing, ctx); });

  auto exporting = std::make_shared<job_options>();
  auto* exports = group->add_subcommand("export", "Print all jobs, for job add");
  exports->add_option("--format", exporting->format, "json or toml")
      ->check(CLI::IsMember({"json", "toml"}))
      ->default_val("json");
  add_server_option(exports, *exporting);
  exporting->json = true;
  on_run(exports, ctx, [exporting, &ctx] { return list(*exporting, ctx); });

  const auto fresh = [] { return std::make_shared<job_options>(); };
  add_one_job(group, ctx, "show", "Show a job", fresh(),
              [](const job_options& o, context& c) { return call(o, c, "GET", path_of(o.id)); });
  auto modifying = fresh();
  add_one_job(group, ctx, "modify", "Change members of a job", modifying,
              [](const job_options& o, context& c) {
                return call(o, c, "PATCH", path_of(o.id), o.changes);
              })
      ->add_option("CHANGES", modifying->changes, "A JSON object with the members to change")
      ->required();
  auto pausing = fresh();
  add_one_job(
      group, ctx, "pause", "Stop planning runs", pausing,
      [](const job_options& o, context& c) {
        return call(o, c, "POST", path_of(o.id) + "/pause", json{{"reason", o.reason}}.dump());
      })
      ->add_option("--reason", pausing->reason, "Why, for whoever asks");
  auto resuming = fresh();
  add_one_job(group, ctx, "resume", "Plan runs again", resuming,
              [](const job_options& o, context& c) {
                return call(o, c, "POST", path_of(o.id) + "/resume",
                            json{{"missed", o.catch_up ? "catch_up" : "skip"}}.dump());
              })
      ->add_flag("--catch-up", resuming->catch_up, "Run what was missed, by the job's rules");
  add_one_job(group, ctx, "run", "Run a job now", fresh(), [](const job_options& o, context& c) {
    return call(o, c, "POST", path_of(o.id) + "/run");
  });
  auto removing = fresh();
  auto* removes =
      group->add_subcommand("rm", "Remove a job and its history, or with --all every job");
  auto* which = removes->add_option("ID", removing->id);
  auto* every = removes->add_flag("--all", removing->all, "Every job")->excludes(which);
  removes->add_flag("--yes", removing->yes, "With --all: do not ask")->needs(every);
  add_server_option(removes, *removing);
  add_json_option(removes, *removing);
  on_run(removes, ctx, [removing, &ctx] {
    const auto& o = *removing;
    if (!o.all && o.id.empty()) return ctx.complain({bad_input, "ID", "required, or --all"});
    return o.all ? remove_all(o, ctx) : call(o, ctx, "DELETE", path_of(o.id));
  });
  auto filling = fresh();
  auto* fills = add_one_job(group, ctx, "backfill", "Run the times of a range that has passed",
                            filling, [](const job_options& o, context& c) {
                              return call(o, c, "POST", path_of(o.id) + "/backfill",
                                          json{{"from", o.from}, {"to", o.to}}.dump());
                            });
  fills
      ->add_option("FROM", filling->from,
                   "First time (ISO 8601; the job's zone unless it has an "
                   "offset)")
      ->required();
  fills->add_option("TO", filling->to, "Last time")->required();
  auto moving = fresh();
  add_one_job(group, ctx, "reschedule", "Give a job another trigger, from now; ends a pause",
              moving, reschedule)
      ->add_option("TRIGGER", moving->trigger,
                   "A JSON trigger, five crontab fields, @daily and the like, 'every 90s', or "
                   "'oncalendar: Mon..Fri 09:00'")
      ->required();
  for (const bool pause : {true, false}) {
    auto o = fresh();
    auto* command = group->add_subcommand(pause ? "pause-all" : "resume-all",
                                          pause ? "Nothing becomes due; runs under way go on"
                                                : "Go on; what is overdue is decided");
    add_server_option(command, *o);
    add_json_option(command, *o);
    on_run(command, ctx, [o, pause, &ctx] {
      return call(*o, ctx, "POST",
                  pause ? "/v1/scheduler/jobs/pause" : "/v1/scheduler/jobs/resume");
    });
  }
  auto looking = fresh();
  add_one_job(group, ctx, "history", "Show what came of its runs", looking, history)
      ->add_option("-n", looking->count, "How many, newest first")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto asking = fresh();
  add_one_job(group, ctx, "why", "Tell why it did not run", asking, why)
      ->add_option("TIME", asking->time, "At that time (ISO 8601); else now");
}

} // namespace lycosa::cli
