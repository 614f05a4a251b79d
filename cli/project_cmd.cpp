#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/table.hpp"
#include "conf/units.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::cli {

namespace {

constexpr auto status_names = "TODO, STOP, CHECKING, DEBUG, RUNNING, PAUSED";

struct project_options : server_options {
  std::string name;
  bool yes = false;
  // put
  std::string status, group, script_file, comments, retry_delay, crawl_config, body_file;
  std::string min_tick, retain_age; // durations
  double rate = 0, burst = 0;
  std::uint64_t queue_limit = 0;
  std::uint64_t queue_window = 0;
  std::uint64_t retain_count = 0;
};

std::string path_of(const std::string& name) {
  return "/v1/projects/" + url_encode(name);
}

/// A member as a person reads it; "-" when it is not there.
std::string cell(const json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string())
    return found->get<std::string>().empty() ? "-" : printable(found->get<std::string>());
  if (found->is_boolean()) return found->get<bool>() ? "yes" : "no";
  if (found->is_number_unsigned()) return grouped(found->get<std::uint64_t>());
  if (found->is_number_float() && std::abs(found->get<double>()) < 1e15
      && found->get<double>() == std::floor(found->get<double>()))
    return std::to_string(static_cast<std::int64_t>(found->get<double>()));
  return printable(found->dump());
}

/// The list of projects, whatever form it is wrapped in.
json list_of(json answer) {
  if (answer.is_array()) return answer;
  if (answer.is_object() && answer.contains("projects")) return answer["projects"];
  return json::array();
}

int list(const project_options& o, context& ctx) {
  client server{o.url};
  auto body = server.call("GET", "/v1/projects");
  if (!body) return ctx.complain(body.error());
  if (o.json) {
    ctx.out << *body << '\n' << std::flush;
    return done;
  }
  auto projects = list_of(json::parse(*body, nullptr, false));
  table t{{{"NAME"},
           {"STATUS"},
           {"GROUP"},
           {"RATE", true},
           {"BURST", true},
           {"READY", true},
           {"DELAYED", true},
           {"ON DISK", true},
           {"PROCESSING", true},
           {"PAUSED"}}};
  for (const auto& p : projects)
    if (p.is_object())
      t.add({cell(p, "name"), cell(p, "status"), cell(p, "group"), cell(p, "rate"),
             cell(p, "burst"), cell(p, "ready"), cell(p, "delayed"), cell(p, "on_disk"),
             cell(p, "processing"), cell(p, "paused")});
  if (t.empty())
    ctx.out << "no projects; make one: lycosa project put NAME --status RUNNING\n" << std::flush;
  else
    t.print(ctx.out);
  ctx.out.flush();
  return done;
}

/// `pending 3, success 1`: the members of a window of counters.
std::string events_text(const json& window) {
  std::string text;
  for (const auto& [name, n] : window.items())
    text += (text.empty() ? "" : ", ") + printable(name) + ' ' + cell(window, name.c_str());
  return text;
}

void add_counters(table& t, const json& counters) {
  auto tasks = json::object(); // by state, as against the windows
  for (const auto& [name, value] : counters.items())
    if (!value.is_object()) tasks[name] = value;
  if (!tasks.empty()) t.add({"tasks", events_text(tasks)});
  for (const char* name : {"5m_time", "5m", "1h", "1d", "all"})
    if (const auto window = counters.find(name); window != counters.end() && window->is_object())
      t.add({std::string{"counters "} + name, events_text(*window)});
}

void print_object(const json& object, context& ctx) {
  table t{{{"FIELD"}, {"VALUE"}}};
  for (const auto& [name, value] : object.items()) {
    if ((name == "updatetime" || name == "next_at") && value.is_number())
      t.add({name, time_text(value.get<double>())});
    else if (name == "counters" && value.is_object())
      add_counters(t, value);
    else
      t.add({printable(name), cell(object, name.c_str())});
  }
  t.print(ctx.out);
  ctx.out.flush();
}

int show_answer(const project_options& o, context& ctx, outcome<std::string> body) {
  if (!body) return ctx.complain(body.error());
  auto object = json::parse(*body, nullptr, false);
  if (o.json || !object.is_object())
    ctx.out << *body << '\n' << std::flush;
  else
    print_object(object, ctx);
  return done;
}

int show(const project_options& o, context& ctx) {
  client server{o.url};
  return show_answer(o, ctx, server.call("GET", path_of(o.name)));
}

/// A duration as the node is told it. What is too short for a microsecond must not become 0, which
/// means "none" or "for ever".
result<double> seconds_of(const std::string& text) {
  auto time = conf::parse_duration(text);
  if (!time) return tl::unexpected(time.error());
  if (*time == usec::zero() && text.find_first_of("123456789") != std::string::npos)
    return fail(errc::invalid_argument, "", "must be 0 or at least 1us");
  return static_cast<double>(time->count()) / 1e6;
}

/// The members that were named on the command line, over those of --file.
outcome<json> put_body(const project_options& o, const CLI::App& command, context& ctx) {
  auto body = json::object();
  if (!o.body_file.empty()) {
    auto text = read_input(o.body_file, ctx);
    if (!text) return tl::unexpected(text.error());
    body = json::parse(*text, nullptr, false);
    if (!body.is_object())
      return tl::unexpected(failure{bad_input, o.body_file, "is not a JSON object"});
  }
  auto given = [&](const char* option) { return command.count(option) > 0; };
  auto put_json = [&](const char* option, const char* name,
                      const std::string& text) -> outcome<void> {
    if (!given(option)) return {};
    auto value = json::parse(text, nullptr, false);
    if (!value.is_object())
      return tl::unexpected(failure{bad_input, option, "is not a JSON object"});
    body[name] = std::move(value);
    return {};
  };
  auto put_seconds = [&](const char* option, const char* name,
                         const std::string& text) -> outcome<void> {
    if (!given(option)) return {};
    auto time = seconds_of(text);
    if (!time) return tl::unexpected(failure{bad_input, option, time.error().why});
    body[name] = *time;
    return {};
  };
  if (given("--status")) body["status"] = o.status;
  if (given("--group")) body["group"] = o.group;
  if (given("--comments")) body["comments"] = o.comments;
  if (given("--rate")) body["rate"] = o.rate;
  if (given("--burst")) body["burst"] = o.burst;
  if (given("--queue-limit")) body["queue_limit"] = o.queue_limit;
  if (given("--queue-window")) body["queue_window"] = o.queue_window;
  if (given("--retain-count")) body["retain_count"] = o.retain_count;
  if (given("--script")) {
    auto script = read_input(o.script_file, ctx);
    if (!script) return tl::unexpected(script.error());
    body["script"] = std::move(*script);
  }
  if (auto ok = put_seconds("--min-tick", "min_tick", o.min_tick); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = put_seconds("--retain-age", "retain_age", o.retain_age); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = put_json("--retry-delay", "retry_delay", o.retry_delay); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = put_json("--crawl-config", "crawl_config", o.crawl_config); !ok)
    return tl::unexpected(ok.error());
  return body;
}

int put(const project_options& o, const CLI::App& command, context& ctx) {
  auto body = put_body(o, command, ctx);
  if (!body) return ctx.complain(body.error());
  client server{o.url};
  // A script that is not UTF-8 cannot be JSON; the replacement would change it silently.
  std::string text;
  try {
    text = body->dump();
  } catch (const json::exception&) {
    return ctx.complain(failure{bad_input, o.name, "a value is not UTF-8 text"});
  }
  return show_answer(o, ctx, server.call("PUT", path_of(o.name), text));
}

int set_status(const project_options& o, context& ctx, const char* status) {
  client server{o.url};
  // PUT would make a project that is not there.
  if (auto known = server.call("GET", path_of(o.name)); !known) return ctx.complain(known.error());
  auto body = server.call("PUT", path_of(o.name), json{{"status", status}}.dump());
  if (!body) return ctx.complain(body.error());
  ctx.out << o.name << ": " << status << '\n' << std::flush;
  return done;
}

int remove(const project_options& o, context& ctx) {
  if (!o.yes) {
    if (!ctx.in_terminal)
      return ctx.complain(
          failure{bad_input, o.name, "deletes its tasks and results; say --yes to confirm"});
    ctx.err << "This deletes project " << o.name
            << " with its tasks, results and counters. Type its name to go on: " << std::flush;
    std::string typed;
    std::getline(ctx.in, typed);
    if (typed != o.name) return ctx.complain(failure{failed, o.name, "not deleted"});
  }
  client server{o.url};
  auto body = server.call("DELETE", path_of(o.name) + "?confirm=" + url_encode(o.name));
  if (!body) return ctx.complain(body.error());
  ctx.out << o.name << ": deleted\n" << std::flush;
  return done;
}

int start(const project_options& o, context& ctx) {
  client server{o.url};
  auto body = server.call("POST", path_of(o.name) + "/start");
  if (!body) return ctx.complain(body.error());
  ctx.out << o.name << ": on_start queued\n" << std::flush;
  return done;
}

} // namespace

void add_project(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("project", "Look at and change projects");
  group->require_subcommand(1);
  group->footer("Examples:\n"
                "  lycosa project put docs --status RUNNING --rate 10 --burst 20\n"
                "  lycosa project ls\n"
                "  lycosa project pause docs");
  auto options = std::make_shared<project_options>();
  auto add = [&](const char* name, const char* what, bool takes_name) {
    auto* command = group->add_subcommand(name, what);
    add_server_option(command, *options);
    if (takes_name) command->add_option("NAME", options->name, "The project")->required();
    return command;
  };

  auto* ls = add("ls", "List projects with their rates and queues", false);
  add_json_option(ls, *options);
  on_run(ls, ctx, [options, &ctx] { return list(*options, ctx); });

  auto* show_command = add("show", "Show one project", true);
  add_json_option(show_command, *options);
  on_run(show_command, ctx, [options, &ctx] { return show(*options, ctx); });

  auto* put_command = add("put", "Make a project, or change what is named of it", true);
  add_json_option(put_command, *options);
  put_command->add_option("--status", options->status, status_names)
      ->check(CLI::IsMember({"TODO", "STOP", "CHECKING", "DEBUG", "RUNNING", "PAUSED"}))
      ->type_name("STATUS");
  put_command->add_option("--rate", options->rate, "Tasks a second, e.g. 0.1")->type_name("NUMBER");
  put_command->add_option("--burst", options->burst, "Most tasks that may go at once")
      ->type_name("NUMBER");
  put_command->add_option("--group", options->group, "Group; `delete` in it allows deletion")
      ->type_name("TEXT");
  put_command->add_option("--comments", options->comments, "Free text")->type_name("TEXT");
  put_command->add_option("--script", options->script_file, "File with the script; - = stdin")
      ->type_name("FILE");
  put_command
      ->add_option("--min-tick", options->min_tick,
                   "Time between ticks, e.g. 5m, or seconds; 0 = none")
      ->type_name("DURATION");
  put_command
      ->add_option("--retry-delay", options->retry_delay,
                   R"(Seconds before each retry, e.g. '{"0":30,"":3600}')")
      ->type_name("JSON");
  put_command->add_option("--queue-limit", options->queue_limit, "Most tasks queued; 0 = default")
      ->type_name("N");
  put_command
      ->add_option("--queue-window", options->queue_window,
                   "About how many waiting tasks are kept in memory, the rest on disk; 0 = all")
      ->type_name("N");
  put_command
      ->add_option("--retain-age", options->retain_age,
                   "How long settled tasks are kept, e.g. 7d, or seconds; 0 = for ever")
      ->type_name("DURATION");
  put_command
      ->add_option("--retain-count", options->retain_count,
                   "About how many settled tasks are kept; 0 = all")
      ->type_name("N");
  put_command->add_option("--crawl-config", options->crawl_config, "Kept for the fetchers")
      ->type_name("JSON");
  put_command->add_option("--file", options->body_file, "JSON object with any of these; - = stdin")
      ->type_name("FILE");
  put_command->footer("What is not named stays as it is.\n\n"
                      "Example:\n  lycosa project put docs --status RUNNING --rate 2 --burst 5");
  on_run(put_command, ctx,
         [options, put_command, &ctx] { return put(*options, *put_command, ctx); });

  auto* rm = add("rm", "Delete a project with its tasks, results and counters", true);
  rm->add_flag("--yes", options->yes, "Do not ask");
  on_run(rm, ctx, [options, &ctx] { return remove(*options, ctx); });

  auto* pause = add("pause", "Keep taking tasks, hand none out (status PAUSED)", true);
  on_run(pause, ctx, [options, &ctx] { return set_status(*options, ctx, "PAUSED"); });

  auto* resume = add("resume", "Hand tasks out again (status RUNNING)", true);
  on_run(resume, ctx, [options, &ctx] { return set_status(*options, ctx, "RUNNING"); });

  auto* start_command = add("start", "Queue the project's on_start task", true);
  on_run(start_command, ctx, [options, &ctx] { return start(*options, ctx); });
}

} // namespace lycosa::cli
