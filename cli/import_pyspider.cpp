#include "cli/client.hpp"
#include "cli/migrate_cmd.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"

#include "migrate/rows.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>

namespace lycosa::cli {

namespace {

constexpr auto ndjson = "application/x-ndjson";
constexpr std::size_t most_bytes = std::size_t{8} << 20; ///< of one request
constexpr std::uint64_t most_complaints = 50;            ///< rows named one by one

failure to_failure(const error& e) {
  return {exit_code_of(e.code), e.what, e.why};
}

/// How far an import has come: the cursor of each table. Written after every batch, so that a
/// later run goes on where this one was broken off.
class import_state {
public:
  explicit import_state(std::string file) : file_(std::move(file)) {
    if (file_.empty()) return;
    std::ifstream in(file_);
    auto stored = json::parse(in, nullptr, false);
    if (stored.is_object()) tables_ = std::move(stored);
  }

  [[nodiscard]] std::string cursor(const std::string& table) const {
    const auto found = tables_.find(table);
    return found != tables_.end() && found->is_string() ? found->get<std::string>() : std::string{};
  }
  [[nodiscard]] bool finished(const std::string& table) const { return cursor(table) == "done"; }

  void reached(const std::string& table, const std::string& cursor) {
    if (file_.empty()) return;
    tables_[table] = cursor.empty() ? "done" : cursor;
    const auto next = file_ + ".new";
    std::ofstream(next) << tables_.dump(1) << '\n';
    std::rename(next.c_str(), file_.c_str());
  }

private:
  std::string file_;
  json tables_ = json::object();
};

/// One run of the command.
class importer {
public:
  importer(const migrate_options& o, context& ctx)
      : o_(o), ctx_(ctx), server_(o.url), state_(o.state) {}

  outcome<void> run() {
    if (auto ok = open(); !ok) return ok;
    if (auto ok = list_projects(); !ok) return ok;
    if (names_.empty()) return tl::unexpected(failure{failed, "import", "no project is there"});
    total_ = 0;
    for (const auto& name : names_)
      if (auto ok = look_at(name); !ok) return ok;
    progress bar{ctx_.err, ctx_.err_terminal, total_, "rows"};
    bar_ = &bar;
    for (const auto& name : names_)
      if (auto ok = take_over(name); !ok) return ok;
    bar.clear();
    bar_ = nullptr;
    print();
    if (!o_.dry_run)
      if (auto ok = compare(); !ok) return ok;
    if (complaints_ > 0)
      return tl::unexpected(failure{failed, "import",
                                    grouped(complaints_) + (complaints_ == 1 ? " row" : " rows")
                                        + " could not be taken"});
    return {};
  }

private:
  struct sums {
    std::optional<migrate::project_row> project;
    bool has_tasks = false, has_results = false;
    migrate::task_counts tasks{};
    std::uint64_t results = 0;
    std::uint64_t fresh = 0, replaced = 0, unchanged = 0, stored = 0, refused = 0;
  };

  outcome<void> open() {
    if (o_.taskdb.empty() && o_.projectdb.empty() && o_.resultdb.empty())
      return tl::unexpected(
          failure{bad_input, "import", "name --projectdb, --taskdb or --resultdb"});
    if (!o_.projectdb.empty()) {
      auto source = migrate::open_projects(o_.projectdb);
      if (!source) return tl::unexpected(to_failure(source.error()));
      project_db_ = std::move(*source);
    }
    if (!o_.taskdb.empty()) {
      auto source = migrate::open_tasks(o_.taskdb);
      if (!source) return tl::unexpected(to_failure(source.error()));
      task_db_ = std::move(*source);
    }
    if (!o_.resultdb.empty()) {
      auto source = migrate::open_results(o_.resultdb);
      if (!source) return tl::unexpected(to_failure(source.error()));
      result_db_ = std::move(*source);
    }
    return {};
  }

  [[nodiscard]] bool wanted(const std::string& name) const {
    return o_.projects.empty() || std::ranges::find(o_.projects, name) != o_.projects.end();
  }

  template <class Source, class Note>
  outcome<void> note_tables(Source* source, Note&& note) {
    if (source == nullptr) return {};
    auto names = source->projects();
    if (!names) return tl::unexpected(to_failure(names.error()));
    for (const auto& name : *names)
      if (wanted(name)) note(sums_[name]);
    return {};
  }

  outcome<void> list_projects() {
    if (project_db_) {
      auto rows = project_db_->projects();
      if (!rows) return tl::unexpected(to_failure(rows.error()));
      for (auto& row : *rows)
        if (wanted(row.name)) {
          auto& s = sums_[row.name];
          s.project = std::move(row);
        }
    }
    if (auto ok = note_tables(task_db_.get(), [](sums& s) { s.has_tasks = true; }); !ok) return ok;
    if (auto ok = note_tables(result_db_.get(), [](sums& s) { s.has_results = true; }); !ok)
      return ok;
    for (const auto& [name, _] : sums_)
      names_.push_back(name);
    for (const auto& name : o_.projects)
      if (!sums_.contains(name))
        return tl::unexpected(failure{failed, name, "no such project in these databases"});
    return {};
  }

  outcome<void> look_at(const std::string& name) {
    auto& s = sums_[name];
    if (s.has_tasks) {
      auto counts = task_db_->counts(name);
      if (!counts) return tl::unexpected(to_failure(counts.error()));
      s.tasks = *counts;
      for (auto n : s.tasks)
        total_ += n;
    }
    if (s.has_results) {
      auto n = result_db_->count(name);
      if (!n) return tl::unexpected(to_failure(n.error()));
      s.results = *n;
      total_ += *n;
    }
    return {};
  }

  static std::string path_of(const std::string& name) { return "/v1/projects/" + url_encode(name); }

  /// The project first, so that its tasks can be taken; it runs when they are there.
  outcome<void> take_over(const std::string& name) {
    auto& s = sums_[name];
    if (!o_.dry_run) {
      auto known = server_.send("GET", path_of(name));
      if (!known) return tl::unexpected(known.error());
      json fields = json::object();
      if (known->status == 404) fields["status"] = "STOP";
      if (s.project) {
        fields["group"] = s.project->group;
        fields["script"] = s.project->script;
        fields["comments"] = s.project->comments;
        fields["rate"] = s.project->rate;
        fields["burst"] = s.project->burst;
      }
      auto put = server_.call("PUT", path_of(name), text_of(fields));
      if (!put) return tl::unexpected(put.error());
    }
    if (s.has_tasks)
      if (auto ok = move<migrate::task_row>(
              s, "tasks " + name, "/v1/import/tasks",
              [&](std::string& cursor) { return task_db_->read(name, cursor, o_.batch); },
              [](const migrate::task_row& row) { return migrate::to_line(row); });
          !ok)
        return ok;
    if (s.has_results)
      if (auto ok = move<migrate::result_row>(
              s, "results " + name, "/v1/import/results",
              [&](std::string& cursor) { return result_db_->read(name, cursor, o_.batch); },
              [&](const migrate::result_row& row) { return migrate::to_line(name, row); });
          !ok)
        return ok;
    if (o_.dry_run || !s.project) return {};
    auto status = server_.call("PUT", path_of(name), text_of(json{{"status", s.project->status}}));
    if (!status) return tl::unexpected(status.error());
    return {};
  }

  static std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  template <class Row, class Read, class ToLine>
  outcome<void> move(sums& s, const std::string& table, const std::string& path, Read&& read,
                     ToLine&& to_line) {
    if (state_.finished(table)) return {};
    auto cursor = o_.dry_run ? std::string{} : state_.cursor(table);
    do {
      auto rows = read(cursor);
      if (!rows) return tl::unexpected(to_failure(rows.error()));
      std::string body;
      std::vector<std::string> ids;
      for (const auto& row : *rows) {
        auto line = to_line(row);
        if (!line) {
          complain(s, table + "/" + row.taskid, line.error());
          continue;
        }
        if (!body.empty() && body.size() + line->size() > most_bytes)
          if (auto ok = send(s, table, path, body, ids); !ok) return ok;
        body += *line + '\n';
        ids.push_back(row.taskid);
      }
      if (auto ok = send(s, table, path, body, ids); !ok) return ok;
      if (!o_.dry_run) state_.reached(table, cursor);
      done_ += rows->size();
      if (bar_ != nullptr) bar_->update(done_, done_);
    } while (!cursor.empty());
    return {};
  }

  outcome<void> send(sums& s, const std::string& table, const std::string& path, std::string& body,
                     std::vector<std::string>& ids) {
    if (!ids.empty() && !o_.dry_run) {
      auto answer = server_.call_json("POST", path, body, ndjson);
      if (!answer) return tl::unexpected(answer.error());
      s.fresh += answer->value("new", std::uint64_t{0});
      s.replaced += answer->value("replaced", std::uint64_t{0});
      s.unchanged += answer->value("unchanged", std::uint64_t{0});
      s.stored += answer->value("stored", std::uint64_t{0});
      if (const auto no = answer->find("rejected"); no != answer->end() && no->is_array())
        for (const auto& item : *no) {
          const auto index = item.value("index", std::uint64_t{0});
          complain(s, table + "/" + (index < ids.size() ? ids[index] : "?"),
                   item.value("error", "refused"));
        }
    }
    body.clear();
    ids.clear();
    return {};
  }

  void complain(sums& s, const std::string& what, const std::string& why) {
    s.refused += 1;
    if (++complaints_ > most_complaints) return;
    if (bar_ != nullptr) bar_->clear();
    ctx_.complain(failure{failed, printable(what), why});
    if (complaints_ == most_complaints)
      ctx_.err << "lycosa: further rows that cannot be taken are only counted\n";
  }

  void print() const {
    if (o_.json) {
      json all = json::object();
      for (const auto& [name, s] : sums_)
        all[name] = {{"tasks", s.tasks[0] + s.tasks[1] + s.tasks[2] + s.tasks[3] + s.tasks[4]},
                     {"results", s.results},
                     {"new", s.fresh},
                     {"replaced", s.replaced},
                     {"unchanged", s.unchanged},
                     {"refused", s.refused}};
      ctx_.out << all.dump() << '\n';
      return;
    }
    table t{{{"project"},
             {"active", true},
             {"success", true},
             {"failed", true},
             {"bad", true},
             {"results", true},
             {"new", true},
             {"replaced", true},
             {"unchanged", true},
             {"refused", true}}};
    for (const auto& [name, s] : sums_)
      t.add({printable(name), grouped(s.tasks[1]), grouped(s.tasks[2]), grouped(s.tasks[3]),
             grouped(s.tasks[4]), grouped(s.results), grouped(s.fresh), grouped(s.replaced),
             grouped(s.unchanged), grouped(s.refused)});
    t.print(ctx_.out);
    if (o_.dry_run) ctx_.out << "dry run: nothing was written\n";
  }

  /// Tasks that a running project has crawled meanwhile have changed their state: what must agree
  /// is how many there are.
  outcome<void> compare() {
    for (const auto& [name, s] : sums_) {
      if (!s.has_tasks) continue;
      auto view = server_.call_json("GET", path_of(name));
      if (!view) return tl::unexpected(view.error());
      std::uint64_t here = 0, there = 0;
      for (const auto* state : {"active", "success", "failed", "bad"})
        here += (*view)["counters"].value(state, std::uint64_t{0});
      for (auto n : s.tasks)
        there += n;
      if (here < there - std::min(there, s.refused))
        return tl::unexpected(failure{failed, name,
                                      "has " + grouped(here) + " tasks here and " + grouped(there)
                                          + " in " + o_.taskdb + ": " + grouped(there - here)
                                          + " are missing"});
    }
    return {};
  }

  const migrate_options& o_;
  context& ctx_;
  client server_;
  import_state state_;
  std::unique_ptr<migrate::project_source> project_db_;
  std::unique_ptr<migrate::task_source> task_db_;
  std::unique_ptr<migrate::result_source> result_db_;
  std::map<std::string, sums> sums_;
  std::vector<std::string> names_;
  progress* bar_ = nullptr;
  std::uint64_t total_ = 0, done_ = 0, complaints_ = 0;
};

} // namespace

int import_pyspider(const migrate_options& o, context& ctx) {
  auto ran = importer{o, ctx}.run();
  return ran ? int{done} : ctx.complain(ran.error());
}

} // namespace lycosa::cli
