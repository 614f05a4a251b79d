#include "cli/client.hpp"
#include "cli/migrate_cmd.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "cli/task_cmd.hpp"

#include "migrate/rows.hpp"

#include <ostream>

namespace lycosa::cli {

namespace {

failure to_failure(const error& e) {
  return {exit_code_of(e.code), e.what, e.why};
}

std::string part_of(const json& task, const char* name) {
  const auto found = task.find(name);
  return found == task.end() || found->is_null() ? std::string{} : found->dump();
}

migrate::task_row to_row(const json& task) {
  migrate::task_row r;
  r.taskid = task.value("taskid", "");
  r.project = task.value("project", "");
  r.url = task.value("url", "");
  r.status = task.value("status", std::int64_t{1});
  r.schedule = part_of(task, "schedule");
  r.fetch = part_of(task, "fetch");
  r.process = part_of(task, "process");
  r.track = part_of(task, "track");
  r.lastcrawltime = task.value("lastcrawltime", 0.0);
  r.updatetime = task.value("updatetime", 0.0);
  return r;
}

class exporter {
public:
  exporter(const migrate_options& o, context& ctx) : o_(o), ctx_(ctx), server_(o.url) {}

  outcome<void> run() {
    if (o_.taskdb.empty() && o_.projectdb.empty() && o_.resultdb.empty())
      return tl::unexpected(
          failure{bad_input, "export", "name --projectdb, --taskdb or --resultdb"});
    auto projects = server_.call_json("GET", "/v1/projects");
    if (!projects) return tl::unexpected(projects.error());
    std::vector<json> chosen;
    for (auto& p : projects->is_array() ? *projects : (*projects)["projects"])
      if (o_.projects.empty()
          || std::ranges::find(o_.projects, p.value("name", "")) != o_.projects.end())
        chosen.push_back(p);
    if (chosen.size() < o_.projects.size())
      return tl::unexpected(failure{failed, "export", "a project named is not there"});
    if (auto ok = write_projects(chosen); !ok) return ok;
    for (const auto& p : chosen) {
      const auto name = p.value("name", "");
      if (auto ok = write_tasks(name); !ok) return ok;
      if (auto ok = write_results(name); !ok) return ok;
    }
    if (o_.json) {
      ctx_.out << json{{"projects", chosen.size()}, {"tasks", tasks_}, {"results", results_}}.dump()
               << '\n';
      return {};
    }
    ctx_.out << grouped(chosen.size()) << " projects, " << grouped(tasks_) << " tasks, "
             << grouped(results_) << " results\n";
    return {};
  }

private:
  outcome<void> write_projects(const std::vector<json>& projects) {
    if (o_.projectdb.empty()) return {};
    auto sink = migrate::make_projects(o_.projectdb);
    if (!sink) return tl::unexpected(to_failure(sink.error()));
    std::vector<migrate::project_row> rows;
    for (const auto& p : projects) {
      auto status = p.value("status", "STOP");
      if (status == "PAUSED") status = "STOP"; // pyspider has no such state in its database
      rows.push_back({p.value("name", ""), p.value("group", ""), status, p.value("script", ""),
                      p.value("comments", ""), p.value("rate", 0.0), p.value("burst", 0.0),
                      p.value("updatetime", 0.0)});
    }
    if (auto ok = (*sink)->write(rows); !ok) return tl::unexpected(to_failure(ok.error()));
    return {};
  }

  outcome<void> write_tasks(const std::string& project) {
    if (o_.taskdb.empty()) return {};
    auto sink = migrate::make_tasks(o_.taskdb);
    if (!sink) return tl::unexpected(to_failure(sink.error()));
    progress bar{ctx_.err, ctx_.err_terminal, 0, "tasks"};
    std::vector<migrate::task_row> rows;
    std::optional<error> failed_write;
    const auto flush = [&] {
      if (auto ok = (*sink)->write(project, rows); !ok) failed_write = ok.error();
      tasks_ += rows.size();
      bar.update(0, tasks_);
      rows.clear();
    };
    auto walked = for_each_task(server_, project, "", o_.batch, [&](const json& task) {
      rows.push_back(to_row(task));
      if (rows.size() >= o_.batch) flush();
      return !failed_write;
    });
    if (walked && !failed_write) flush(); // also makes the table of a project without tasks
    bar.clear();
    if (!walked) return walked;
    if (failed_write) return tl::unexpected(to_failure(*failed_write));
    return {};
  }

  outcome<void> write_results(const std::string& project) {
    if (o_.resultdb.empty()) return {};
    auto sink = migrate::make_results(o_.resultdb);
    if (!sink) return tl::unexpected(to_failure(sink.error()));
    std::string cursor;
    do {
      auto path = "/v1/projects/" + url_encode(project)
                  + "/results?limit=" + std::to_string(std::min<std::uint64_t>(o_.batch, 10'000));
      if (!cursor.empty()) path += "&after=" + url_encode(cursor);
      auto page = server_.call_json("GET", path);
      if (!page) return tl::unexpected(page.error());
      std::vector<migrate::result_row> rows;
      for (const auto& r : (*page)["results"]) {
        // What pyspider's side stored has its url beside it; anything else is a result by itself.
        const auto& value = r.contains("result") ? r["result"] : json{};
        const bool pair = value.is_object() && value.size() == 2 && value.contains("url")
                          && value.contains("result") && value["url"].is_string();
        rows.push_back({r.value("taskid", ""), pair ? value["url"].get<std::string>() : "",
                        pair ? value["result"].dump() : value.dump(), r.value("updatetime", 0.0)});
      }
      if (auto ok = (*sink)->write(project, rows); !ok)
        return tl::unexpected(to_failure(ok.error()));
      results_ += rows.size();
      const auto next = page->find("next");
      cursor = next != page->end() && next->is_string() ? next->get<std::string>() : std::string{};
    } while (!cursor.empty());
    return {};
  }

  const migrate_options& o_;
  context& ctx_;
  client server_;
  std::uint64_t tasks_ = 0, results_ = 0;
};

} // namespace

int export_pyspider(const migrate_options& o, context& ctx) {
  auto ran = exporter{o, ctx}.run();
  return ran ? int{done} : ctx.complain(ran.error());
}

} // namespace lycosa::cli
