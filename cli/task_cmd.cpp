#include "cli/task_cmd.hpp"

#include "cli/table.hpp"

#include <algorithm>
#include <memory>
#include <ostream>

namespace lycosa::cli {

namespace {

std::string path_of(const task_options& o) {
  return "/v1/projects/" + url_encode(o.project) + "/tasks/" + url_encode(o.taskid);
}

std::string status_text(const json& task) {
  auto found = task.find("status");
  if (found == task.end()) return "-";
  if (found->is_number_integer()) switch (found->get<int>()) {
    case 1:
      return "ACTIVE";
    case 2:
      return "SUCCESS";
    case 3:
      return "FAILED";
    case 4:
      return "BAD";
    default:
      break;
    }
  return printable(found->is_string() ? found->get<std::string>() : found->dump());
}

std::string text_or_dash(const json& task, const char* name) {
  auto found = task.find(name);
  return found != task.end() && found->is_string() ? printable(found->get<std::string>()) : "-";
}

std::string number_or_dash(const json& task, const char* name) {
  auto found = task.find(name);
  return found != task.end() && found->is_number() ? found->dump() : "-";
}

std::string when(const json& task, const char* name) {
  auto found = task.find(name);
  return found != task.end() && found->is_number() ? time_text(found->get<double>()) : "-";
}

int show(const task_options& o, context& ctx) {
  client server{o.url};
  auto body = server.call("GET", path_of(o));
  if (!body) return ctx.complain(body.error());
  auto task = json::parse(*body, nullptr, false);
  if (o.json || !task.is_object()) {
    ctx.out << *body << '\n' << std::flush;
    return done;
  }
  table t{{{"FIELD"}, {"VALUE"}}};
  for (const auto& [name, value] : task.items()) {
    if (name == "status")
      t.add({name, status_text(task)});
    else if (name == "lastcrawltime" || name == "updatetime")
      t.add({name, when(task, name.c_str())});
    else
      t.add({printable(name),
             printable(value.is_string() ? value.get<std::string>() : value.dump())});
  }
  t.print(ctx.out);
  ctx.out.flush();
  return done;
}

int list(const task_options& o, context& ctx) {
  client server{o.url};
  std::uint64_t seen = 0;
  bool more = false;
  table t{{{"TASKID"}, {"STATUS"}, {"PRIORITY", true}, {"RETRIED", true}, {"LAST CRAWL"}, {"URL"}}};
  if (o.json) ctx.out << "{\"tasks\":[";
  auto page = o.limit == 0 ? 1000 : std::min<std::uint64_t>(o.limit, 1000);
  auto listed = for_each_task(server, o.project, o.status, page, [&](const json& task) {
    if (o.limit != 0 && seen == o.limit) {
      more = true;
      return false;
    }
    if (o.json) {
      ctx.out << (seen > 0 ? ",\n" : "\n")
              << task.dump(-1, ' ', false, json::error_handler_t::replace);
    } else {
      auto schedule = task.contains("schedule") && task["schedule"].is_object() ? task["schedule"]
                                                                                : json::object();
      t.add({text_or_dash(task, "taskid"), status_text(task), number_or_dash(schedule, "priority"),
             number_or_dash(schedule, "retried"), when(task, "lastcrawltime"),
             text_or_dash(task, "url")});
    }
    ++seen;
    return true;
  });
  if (o.json) ctx.out << "\n]}\n";
  if (!listed) {
    ctx.out.flush();
    return ctx.complain(listed.error());
  }
  if (!o.json) {
    if (t.empty())
      ctx.out << "no tasks\n";
    else
      t.print(ctx.out);
    if (more) ctx.out << "… and more; --limit 0 lists all\n";
  }
  ctx.out.flush();
  return done;
}

int cancel(const task_options& o, context& ctx) {
  client server{o.url};
  // A cancel of an unknown task is only ignored by the server; a person wants to know.
  auto task = server.call_json("GET", path_of(o));
  if (!task) return ctx.complain(task.error());
  json order{{"project", o.project},
             {"taskid", o.taskid},
             {"url", task->value("url", "")},
             {"schedule", {{"cancel", true}}}};
  auto answer = server.call_json("POST", "/v1/tasks", json::array({order}).dump());
  if (!answer) return ctx.complain(answer.error());
  submit_counts counts;
  counts.add(*answer);
  if (counts.cancelled == 0) {
    std::string why = "is not queued (status " + status_text(*task) + ")";
    if (answer->contains("rejected") && !(*answer)["rejected"].empty())
      why = (*answer)["rejected"][0].value("error", why);
    return ctx.complain(failure{failed, o.taskid, why});
  }
  ctx.out << o.taskid << ": cancelled\n" << std::flush;
  return done;
}

} // namespace

void submit_counts::add(const json& answer) {
  auto count = [&](const char* name) -> std::uint64_t {
    auto found = answer.find(name);
    return found != answer.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  created += count("new");
  restarted += count("restarted");
  ignored += count("ignored");
  cancelled += count("cancelled");
  if (auto found = answer.find("rejected"); found != answer.end() && found->is_array())
    rejected += found->size();
}

void submit_counts::print(bool as_json, std::ostream& out) const {
  if (as_json) {
    out << json{{"new", created},
                {"restarted", restarted},
                {"ignored", ignored},
                {"cancelled", cancelled},
                {"rejected", rejected}}
               .dump()
        << '\n';
  } else {
    out << grouped(created) << " new, " << grouped(restarted) << " restarted, " << grouped(ignored)
        << " ignored, " << grouped(cancelled) << " cancelled, " << grouped(rejected)
        << " rejected\n";
  }
  out.flush();
}

void add_task(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("task", "Submit tasks, look at them, cancel and requeue");
  group->require_subcommand(1);
  group->footer("Examples:\n"
                "  echo '{\"project\":\"docs\",\"url\":\"https://example.org/\"}' | lycosa task "
                "submit -\n"
                "  lycosa task ls docs --status failed\n"
                "  lycosa task requeue docs --status failed");
  auto options = std::make_shared<task_options>();
  auto add = [&](const char* name, const char* what) {
    auto* command = group->add_subcommand(name, what);
    add_server_option(command, *options);
    return command;
  };
  auto names_project = [&](CLI::App* command) {
    command->add_option("PROJECT", options->project, "The project")->required();
  };
  auto names_task = [&](CLI::App* command) {
    names_project(command);
    command->add_option("TASKID", options->taskid, "The task")->required();
  };
  auto takes_status = [&](CLI::App* command, const char* what) {
    return command->add_option("--status", options->status, what)
        ->check(CLI::IsMember({"active", "success", "failed", "bad"}))
        ->type_name("STATUS");
  };

  auto* submit = add("submit", "Submit tasks from a file, one JSON object a line (NDJSON)");
  submit->add_option("FILE", options->file, "NDJSON file; - = standard input")->required();
  submit->add_option("--project", options->project, "Project of lines that name none")
      ->type_name("NAME");
  submit->add_option("--batch", options->batch, "Tasks in one request")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str()
      ->type_name("N");
  add_json_option(submit, *options);
  submit->footer(
      "Sends the file in batches and prints what became of the tasks; lines that are rejected are\n"
      "told with their number, and the exit status is then 1. Sending a file again is safe: tasks\n"
      "that are known already are ignored.\n\n"
      "Example:\n  lycosa task submit urls.ndjson --project docs");
  on_run(submit, ctx, [options, &ctx] { return submit_tasks(*options, ctx); });

  auto* show_command = add("show", "Show one task");
  names_task(show_command);
  add_json_option(show_command, *options);
  on_run(show_command, ctx, [options, &ctx] { return show(*options, ctx); });

  auto* ls = add("ls", "List tasks of a project");
  names_project(ls);
  takes_status(ls, "Only active, success, failed or bad ones");
  ls->add_option("--limit", options->limit, "Most tasks listed; 0 = all")
      ->capture_default_str()
      ->type_name("N");
  add_json_option(ls, *options);
  on_run(ls, ctx, [options, &ctx] { return list(*options, ctx); });

  auto* cancel_command = add("cancel", "Take a task out of the queue (status BAD)");
  names_task(cancel_command);
  on_run(cancel_command, ctx, [options, &ctx] { return cancel(*options, ctx); });

  auto* requeue = add("requeue", "Queue all tasks of a status again, with their schedule");
  names_project(requeue);
  takes_status(requeue, "Which tasks (default failed)");
  requeue->add_flag("--dry-run", options->dry_run, "Only count them");
  add_json_option(requeue, *options);
  requeue->footer("Example:\n  lycosa task requeue docs --status failed");
  on_run(requeue, ctx, [options, &ctx] {
    if (options->status.empty()) options->status = "failed";
    return requeue_tasks(*options, ctx);
  });
}

} // namespace lycosa::cli
