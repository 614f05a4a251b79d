#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "cli/task_cmd.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lycosa::cli {

namespace {

/// Keeps a request well under the smallest sensible http.max_body.
constexpr std::size_t most_batch_bytes = std::size_t{4} << 20;

constexpr auto ndjson = "application/x-ndjson";

/// Gathers NDJSON lines into requests and keeps the sums.
class submitter {
public:
  submitter(const task_options& o, context& ctx, progress& bar, std::string source)
      : o_(o), ctx_(ctx), bar_(bar), source_(std::move(source)), server_(o.url) {}

  /// One line of the input. False when sending failed; `problem` tells why.
  bool take(std::string_view line, std::uint64_t number) {
    auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return true;
    auto ready = prepare(line.substr(first));
    if (!ready) {
      reject(number, "", ready.error());
      return true;
    }
    if (!lines_.empty() && body_.size() + ready->size() > most_batch_bytes && !send()) return false;
    body_ += *ready;
    body_ += '\n';
    lines_.push_back(number);
    return lines_.size() < o_.batch || send();
  }

  bool send() {
    if (lines_.empty()) return true;
    auto answer = server_.call_json("POST", "/v1/tasks", body_, ndjson);
    if (!answer) {
      problem = answer.error();
      problem->what = source_ + ":" + std::to_string(lines_.front()) + "-"
                      + std::to_string(lines_.back()) + ": " + problem->what;
      return false;
    }
    handled += lines_.size();
    counts.add(*answer);
    tell_rejected(*answer);
    body_.clear();
    lines_.clear();
    return true;
  }

  submit_counts counts;
  std::uint64_t handled = 0;
  std::optional<failure> problem;

private:
  /// The line as it is sent: checked, with the project put in where it names none. The text is
  /// not printed anew, since `fetch` and the like are kept byte for byte.
  tl::expected<std::string, std::string> prepare(std::string_view line) const {
    auto task = json::parse(line, nullptr, false);
    if (task.is_discarded()) return tl::unexpected(std::string{"is not JSON"});
    if (!task.is_object()) return tl::unexpected(std::string{"is not a JSON object"});
    std::string text{line};
    if (!o_.project.empty() && !task.contains("project"))
      text.insert(1, "\"project\":"
                         + json(o_.project).dump(-1, ' ', false, json::error_handler_t::replace)
                         + (task.empty() ? "" : ","));
    return text;
  }

  void tell_rejected(const json& answer) {
    auto found = answer.find("rejected");
    if (found == answer.end() || !found->is_array()) return;
    for (const auto& item : *found) {
      if (!item.is_object()) continue;
      auto index = item.value("index", std::uint64_t{0});
      tell(index < lines_.size() ? lines_[index] : 0, item.value("taskid", ""),
           item.value("error", "rejected"));
    }
  }

  void reject(std::uint64_t number, const std::string& taskid, const std::string& why) {
    ++counts.rejected;
    tell(number, taskid, why);
  }

  void tell(std::uint64_t number, const std::string& taskid, const std::string& why) {
    bar_.clear();
    ctx_.complain(failure{failed,
                          source_ + ":" + std::to_string(number)
                              + (taskid.empty() ? "" : ": " + printable(taskid)),
                          why});
  }

  const task_options& o_;
  context& ctx_;
  progress& bar_;
  std::string source_;
  client server_;
  std::string body_;
  std::vector<std::uint64_t> lines_; ///< of the input, in the order of `body_`
};

} // namespace

int submit_tasks(const task_options& o, context& ctx) {
  std::ifstream file;
  std::uint64_t total = 0;
  auto from_file = o.file != "-";
  if (from_file) {
    std::error_code ec;
    if (std::filesystem::is_directory(o.file, ec))
      return ctx.complain(failure{bad_input, o.file, "is a directory"});
    file.open(o.file, std::ios::binary);
    if (!file) return ctx.complain(failure{bad_input, o.file, std::strerror(errno)});
    total =
        std::filesystem::is_regular_file(o.file, ec) ? std::filesystem::file_size(o.file, ec) : 0;
  }
  auto& in = from_file ? static_cast<std::istream&>(file) : ctx.in;

  progress bar{ctx.err, ctx.err_terminal, total, "tasks"};
  submitter out{o, ctx, bar, from_file ? o.file : "stdin"};
  std::string line;
  std::uint64_t number = 0, position = 0;
  bool going = true;
  while (going && std::getline(in, line)) {
    position += line.size() + 1;
    going = out.take(line, ++number);
    bar.update(position, out.handled);
  }
  if (going) out.send();
  bar.clear();
  // What was taken is told even when the rest could not be sent.
  if (!out.problem || out.handled > 0) out.counts.print(o.json, ctx.out);
  if (out.problem) return ctx.complain(*out.problem);
  return out.counts.rejected > 0 ? failed : done;
}

int requeue_tasks(const task_options& o, context& ctx) {
  client pages{o.url};
  client server{o.url};
  progress bar{ctx.err, ctx.err_terminal, 0, "tasks"};
  submit_counts counts;
  std::uint64_t found = 0;
  std::optional<failure> problem;
  auto batch = json::array();
  // A task that fails again meanwhile may be listed again further on: once is enough.
  std::unordered_set<std::size_t> seen;

  auto send = [&] {
    if (batch.empty() || o.dry_run) return true;
    auto answer = server.call_json("POST", "/v1/tasks",
                                   batch.dump(-1, ' ', false, json::error_handler_t::replace));
    if (!answer) {
      problem = answer.error();
      return false;
    }
    counts.add(*answer);
    if (auto list = answer->find("rejected"); list != answer->end() && list->is_array())
      for (const auto& item : *list) {
        bar.clear();
        ctx.complain(
            failure{failed, printable(item.value("taskid", "")), item.value("error", "rejected")});
      }
    batch.clear();
    return true;
  };

  auto listed = for_each_task(pages, o.project, o.status, 1000, [&](const json& task) {
    auto taskid = task.value("taskid", "");
    if (!seen.insert(std::hash<std::string>{}(taskid)).second) return true;
    ++found;
    auto schedule = task.contains("schedule") && task["schedule"].is_object() ? task["schedule"]
                                                                              : json::object();
    schedule.erase("retried"); // starts anew
    schedule.erase("cancel");
    schedule["force_update"] = true;
    // fetch and process are left out: what a restart does not name stays as it is stored.
    batch.push_back({{"project", o.project},
                     {"taskid", taskid},
                     {"url", task.value("url", "")},
                     {"schedule", std::move(schedule)}});
    auto going = batch.size() < o.batch || send();
    if (o.dry_run) batch.clear();
    bar.update(0, found);
    return going;
  });
  if (listed && !problem) send();
  bar.clear();
  if (o.dry_run && listed) {
    if (o.json)
      ctx.out << json{{"found", found}}.dump() << '\n';
    else
      ctx.out << grouped(found) << " tasks would be queued again\n";
    ctx.out.flush();
    return done;
  }
  if (listed && !problem) counts.print(o.json, ctx.out);
  if (!listed) return ctx.complain(listed.error());
  if (problem) return ctx.complain(*problem);
  return counts.rejected > 0 ? failed : done;
}

} // namespace lycosa::cli
