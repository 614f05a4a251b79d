#include "cli/shell.hpp"

#include "cli/line_reader.hpp"
#include "cli/shell_call.hpp"
#include "cli/table.hpp"
#include "core/md5.hpp"

#include <istream>
#include <ostream>

namespace lycosa::cli {

namespace {

const std::vector<std::string> words{
    "crawl(", "show(", "next()", "projects()", "help()", "quit_interactive()", "quit_pyspider()"};

failure to_failure(const error& e) {
  return {bad_input, e.what, e.why};
}

} // namespace

shell::shell(std::string server, std::string project, actions does, context& ctx)
    : server_(std::move(server)), project_(std::move(project)), does_(std::move(does)), ctx_(ctx) {}

shell::ending shell::run() {
  line_reader lines{ctx_.in, ctx_.in_terminal, "lycosa> ", words};
  if (ctx_.in_terminal) ctx_.out << "help() tells what there is; Ctrl-D leaves\n" << std::flush;
  while (auto line = lines.next()) {
    const auto first = line->find_first_not_of(" \t\r");
    if (first == std::string::npos || (*line)[first] == '#') continue;
    switch (obey(*line)) {
    case verdict::ok:
      break;
    case verdict::bad:
      if (!ctx_.in_terminal) return ending::failed;
      break;
    case verdict::go_on:
      return ending::go_on;
    case verdict::quit:
      return ending::quit;
    }
    ctx_.out << std::flush;
  }
  return ctx_.in_terminal ? ending::quit : ending::go_on;
}

shell::verdict shell::obey(const std::string& line) {
  const auto told = [&](const outcome<void>& done) {
    if (done) return verdict::ok;
    ctx_.complain(done.error());
    return verdict::bad;
  };
  const auto call = parse_call(line);
  if (!call) return told(tl::unexpected(to_failure(call.error())));
  const auto& name = call->name;
  if (name == "quit_interactive") return verdict::go_on;
  if (name == "quit_pyspider" || name == "quit" || name == "exit") return verdict::quit;
  if (name == "help") {
    help();
    return verdict::ok;
  }
  if (name == "crawl") return told(crawl(line));
  if (name == "next") return told(next());
  if (name == "show") {
    if (call->args.size() != 1 || !call->args[0].is_string())
      return told(tl::unexpected(failure{bad_input, "show", "wants a task id or URL in quotes"}));
    return told(show(call->args[0].get<std::string>()));
  }
  if (name == "projects") {
    auto all = server_.call_json("GET", "/v1/projects");
    if (!all) return told(tl::unexpected(all.error()));
    for (const auto& p : all->is_array() ? *all : (*all)["projects"])
      ctx_.out << printable(p.value("name", "")) << ' ' << p.value("status", "") << ' '
               << p.value("size", 0) << " tasks\n";
    return verdict::ok;
  }
  return told(tl::unexpected(failure{bad_input, printable(name), "no such command; see help()"}));
}

outcome<std::string> shell::project_for(const json& task) {
  if (const auto p = task.find("project"); p != task.end() && p->is_string())
    return p->get<std::string>();
  if (!project_.empty()) return project_;
  auto all = server_.call_json("GET", "/v1/projects");
  if (!all) return tl::unexpected(all.error());
  const auto& list = all->is_array() ? *all : (*all)["projects"];
  if (list.size() != 1)
    return tl::unexpected(
        failure{bad_input, "crawl", "there are several projects: say project=\"…\""});
  return list[0].value("name", "");
}

outcome<json> shell::find(const std::string& what) {
  auto project = project_for(json::object());
  if (!project) return tl::unexpected(project.error());
  const auto path = "/v1/projects/" + url_encode(*project) + "/tasks/";
  for (const auto& id : {what, md5_hex(what)}) {
    auto answer = server_.send("GET", path + url_encode(id));
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 200) return json::parse(answer->body, nullptr, false);
  }
  return tl::unexpected(failure{failed, printable(what), "no such task in " + *project});
}

outcome<void> shell::crawl(const std::string& line) {
  auto call = parse_call(line);
  if (!call) return tl::unexpected(to_failure(call.error()));
  auto task = task_of(*call);
  if (!task) return tl::unexpected(to_failure(task.error()));
  auto project = project_for(*task);
  if (!project) return tl::unexpected(project.error());
  (*task)["project"] = *project;
  const auto what = (*task)["url"].get<std::string>();
  if (what.find(':') == std::string::npos) {
    // A task id: its own URL and parts, with what was said instead.
    auto known = find(what);
    if (!known) return tl::unexpected(known.error());
    auto whole = json{{"project", *project},
                      {"taskid", known->value("taskid", "")},
                      {"url", known->value("url", "")}};
    for (const auto* part : {"fetch", "process"}) {
      whole[part] = known->value(part, json::object());
      if (task->contains(part)) whole[part].update((*task)[part]);
    }
    whole["schedule"] = task->value("schedule", json::object());
    task = std::move(whole);
  }
  auto& schedule = (*task)["schedule"];
  schedule["force_update"] = true; // what a person asks for is crawled whatever its age
  if (!schedule.contains("priority")) schedule["priority"] = 1'000'000;
  auto answer = server_.call_json("POST", "/v1/tasks", task->dump());
  if (!answer) return tl::unexpected(answer.error());
  if (const auto no = answer->find("rejected"); no != answer->end() && !no->empty())
    return tl::unexpected(
        failure{failed, "crawl", printable((*no)[0].value("error", "not taken"))});
  if (!does_.step) {
    ctx_.out << "queued\n";
    return {};
  }
  if (!does_.step(*project)) ctx_.out << "queued; it may not run now\n";
  return {};
}

outcome<void> shell::show(const std::string& what) {
  auto task = find(what);
  if (!task) return tl::unexpected(task.error());
  ctx_.out << task->dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  return {};
}

outcome<void> shell::next() {
  if (does_.step) {
    if (!does_.step(project_)) ctx_.out << "no task may run now\n";
    return {};
  }
  auto request = json{{"max", 1}, {"wait", 0}, {"consumer", "shell"}};
  if (!project_.empty()) request["projects"] = json::array({project_});
  auto leased = server_.call_json("POST", "/v1/lease", request.dump());
  if (!leased) return tl::unexpected(leased.error());
  const auto& tasks = (*leased)["tasks"];
  if (tasks.empty()) {
    ctx_.out << "no task may run now\n";
    return {};
  }
  const auto& task = tasks[0];
  ctx_.out << task.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  if (!task.contains("lease")) return {};
  auto back = server_.call("POST", "/v1/release", json{{"leases", {task["lease"]}}}.dump());
  if (!back) return tl::unexpected(back.error());
  return {};
}

void shell::help() const {
  ctx_.out
      << "crawl(\"URL\" or \"TASKID\", project=…, callback=…, priority=…, age=…, headers={…}, …)\n"
      << (does_.step ? "    queues the task before all others and crawls it\n"
                     : "    queues the task before all others\n")
      << "next()                 "
      << (does_.step ? "crawls the next task\n" : "shows the task that would go out next\n")
      << "show(\"TASKID\" or \"URL\")  the whole task\n"
         "projects()             all projects\n"
         "quit_interactive()     leaves the shell"
      << (does_.step ? " and goes on crawling\n" : "\n") << "quit_pyspider()        "
      << (does_.step ? "ends everything\n" : "leaves the shell\n");
}

} // namespace lycosa::cli
