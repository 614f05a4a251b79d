#include "cli/files.hpp"
#include "cli/job_cmd.hpp"
#include "cli/job_send.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "core/jobs/crontab_file.hpp"
#include "core/jobs/job_json.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

namespace lycosa::cli {

namespace {

using jobs::crontab_entry;
using jobs::crontab_file;

constexpr std::size_t most_told = 20; ///< errors of one kind that are told one by one
constexpr std::size_t times_shown = 3;

struct import_options : server_options {
  std::string file, timezone, user, prefix;
  bool system = false, dry_run = false, replace = false;
};

std::string place(const import_options& o, std::size_t line) {
  return (o.file == "-" ? "stdin" : o.file) + ":" + std::to_string(line);
}

/// What becomes of an entry, for people and programs alike.
struct shown_entry {
  std::string meaning;
  std::vector<std::string> times; ///< the next ones, ISO 8601
  std::vector<std::string> warnings;
};

/// `warnings` are the file's, in the order of the lines.
shown_entry look_at(const crontab_entry& e, const crontab_file& file, wall_time now) {
  shown_entry s;
  s.meaning = jobs::explain_trigger(e.job);
  for (const auto t : e.job.trigger.upcoming(std::nullopt, now, times_shown))
    s.times.push_back(trigger::to_iso(t, e.job.trigger.timezone()));
  auto w = std::ranges::lower_bound(file.warnings, e.line, {}, &jobs::crontab_remark::line);
  for (; w != file.warnings.end() && w->line == e.line; ++w)
    s.warnings.push_back(w->field + ": " + w->why);
  if (s.times.empty() && !e.job.trigger.at_start())
    s.warnings.push_back("times: there is no such date; it never runs");
  return s;
}

json to_json(const crontab_entry& e, const shown_entry& s) {
  return {{"line", e.line},       {"id", e.job.id},  {"job", json::parse(e.json)},
          {"meaning", s.meaning}, {"next", s.times}, {"warnings", s.warnings}};
}

/// The command as the shell gets it.
std::string command_text(const jobs::job& j) {
  const auto& a = std::get<jobs::command_action>(j.action);
  std::string out = a.shell;
  for (const auto& word : a.argv)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

void print(const crontab_entry& e, const shown_entry& s, const import_options& o, context& ctx) {
  const auto& action = std::get<jobs::command_action>(e.job.action);
  ctx.out << place(o, e.line) << "  " << printable(e.job.id) << '\n'
          << "  runs     " << printable(command_text(e.job))
          << (action.user.empty() ? "" : "  (as " + printable(action.user) + ")") << '\n'
          << "  when     " << s.meaning << '\n';
  for (std::size_t i = 0; i < s.times.size(); ++i)
    ctx.out << (i == 0 ? "  next     " : "           ") << s.times[i] << '\n';
  for (const auto& w : s.warnings)
    ctx.out << "  warning  " << printable(w) << '\n';
}

void warn(const std::vector<jobs::crontab_remark>& warnings, const import_options& o,
          context& ctx) {
  std::size_t told = 0;
  for (const auto& w : warnings) {
    if (++told > most_told) continue;
    ctx.err << "lycosa: " << place(o, w.line) << ": warning: " << printable(w.field) << ": "
            << printable(w.why) << '\n';
  }
  if (told > most_told)
    ctx.err << "lycosa: " << told - most_told << " more warnings; --dry-run tells all\n";
}

int complain_about(const crontab_file& file, const import_options& o, context& ctx) {
  for (std::size_t i = 0; i < file.errors.size() && i < most_told; ++i) {
    const auto& e = file.errors[i];
    ctx.complain(failure{bad_input, place(o, e.line), printable(e.field + ": " + e.why)});
  }
  if (file.errors.size() > most_told)
    ctx.complain(failure{bad_input, place(o, file.errors[most_told].line),
                         "and " + std::to_string(file.errors.size() - most_told)
                             + " more bad lines from here on"});
  return bad_input;
}

int dry_run(const crontab_file& file, const import_options& o, wall_time now, context& ctx) {
  auto all = json::array();
  std::set<std::size_t> lines;
  for (const auto& e : file.entries) {
    const auto s = look_at(e, file, now);
    lines.insert(e.line);
    if (o.json)
      all.push_back(to_json(e, s));
    else
      print(e, s, o, ctx);
  }
  if (o.json) ctx.out << all.dump() << '\n';
  // Those of variables have no entry to stand with.
  auto others = file.warnings;
  std::erase_if(others, [&](const auto& w) { return lines.contains(w.line); });
  warn(others, o, ctx);
  ctx.out << std::flush;
  return done;
}

using jobs_there = std::map<std::string, json>; ///< by id

outcome<jobs_there> look_around(client& server) {
  auto listed = list_jobs(server);
  if (!listed) return tl::unexpected(listed.error());
  jobs_there out;
  for (auto& job : *listed) {
    auto id = job.value("id", std::string{});
    out.emplace(std::move(id), std::move(job));
  }
  return out;
}

/// What of a job the crontab decides: neither where it has got to nor whether it is paused. The
/// order of members does not count.
nlohmann::json decided(const json& job) {
  auto out = nlohmann::json::parse(job.dump());
  for (const auto* name : {"next_run_time", "finished", "paused", "pause_reason"})
    out.erase(name);
  return out;
}

/// What is to be sent for an entry; none when the node has that very job.
std::optional<json> order_for(const crontab_entry& e, const jobs_there& there, bool replace) {
  auto order = json::parse(e.json);
  if (replace) order["replace_existing"] = true; // of all or none, so that they go as one list
  const auto old = there.find(e.job.id);
  if (old == there.end()) return order;
  if (decided(old->second) == decided(json::parse(jobs::to_json(e.job)))) return std::nullopt;
  // Somebody's decision, which a crontab cannot tell.
  if (old->second.value("paused", false)) {
    order["paused"] = true;
    order["pause_reason"] = old->second.value("pause_reason", std::string{});
  }
  return order;
}

int import(const crontab_file& file, const import_options& o, context& ctx) {
  client server{o.url};
  warn(file.warnings, o, ctx);
  const auto there = look_around(server);
  if (!there) return ctx.complain(there.error());
  // Before the first job is sent, so that nothing is half done.
  for (const auto& e : file.entries)
    if (!o.replace && there->contains(e.job.id))
      return ctx.complain(failure{failed, place(o, e.line),
                                  printable(e.job.id)
                                      + " is there already; nothing was imported (--replace "
                                        "replaces, --prefix keeps crontabs apart)"});
  auto all = json::array();
  std::map<std::string_view, std::size_t> counts;
  std::vector<json> orders;
  std::vector<std::size_t> places; ///< of their entries in the file and in `all`
  for (const auto& e : file.entries) {
    const auto old = there->find(e.job.id);
    const bool known = old != there->end();
    auto order = order_for(e, *there, o.replace);
    const auto* what = !order ? "unchanged" : known ? "replaced" : "added";
    all.push_back({{"line", e.line}, {"id", e.job.id}, {"outcome", what}});
    if (order) {
      places.push_back(all.size() - 1);
      orders.push_back(std::move(*order));
    } else {
      ++counts[what];
      all.back()["next_run_time"] = old->second["next_run_time"];
    }
  }
  std::size_t imported = counts["unchanged"];
  std::optional<failure> refused;
  {
    progress bar(ctx.err, ctx.err_terminal, file.entries.size(), "jobs");
    send_jobs(server, orders, [&](std::size_t index, outcome<json> now) {
      auto& a = all[places[index]];
      if (now) {
        ++counts[a["outcome"] == "replaced" ? "replaced" : "added"];
        a["next_run_time"] = (*now)["next_run_time"];
        ++imported;
        bar.update(imported, imported);
      } else if (!refused) {
        refused = now.error();
        const auto& e = file.entries[places[index]];
        if (refused->code != unreachable)
          refused->what = place(o, e.line) + ": " + printable(e.job.id);
      }
      return true;
    });
    if (refused) bar.clear();
  }
  if (refused) {
    refused->why += "; " + std::to_string(imported) + " of " + std::to_string(file.entries.size())
                    + " jobs were imported";
    return ctx.complain(*refused);
  }
  if (o.json) {
    ctx.out << all.dump() << '\n' << std::flush;
    return done;
  }
  for (const auto& a : all)
    ctx.out << text_of(a, "id") << ": " << text_of(a, "outcome") << ", next run "
            << text_of(a, "next_run_time") << '\n';
  ctx.out << grouped(counts["added"]) << " added, " << grouped(counts["replaced"]) << " replaced, "
          << grouped(counts["unchanged"]) << " unchanged\n"
          << std::flush;
  return done;
}

int run_import(const import_options& o, context& ctx) {
  const auto text = read_input(o.file, ctx);
  if (!text) return ctx.complain(text.error());
  const auto now = std::chrono::floor<usec>(std::chrono::system_clock::now());
  if (!o.timezone.empty())
    if (const auto zone = trigger::zone::find(o.timezone); !zone)
      return ctx.complain(failure{bad_input, "--tz", zone.error().why});
  if (o.system && !o.user.empty())
    return ctx.complain(
        failure{bad_input, "--user", "a system crontab names a user in each of its lines"});
  const auto file =
      jobs::read_crontab(*text, {o.system, o.user, o.timezone,
                                 o.file == "-" ? std::string{"stdin"} : o.file, o.prefix, now});
  if (!file.errors.empty()) return complain_about(file, o, ctx);
  if (o.dry_run) return dry_run(file, o, now, ctx);
  return import(file, o, ctx);
}

} // namespace

void add_crontab_import(CLI::App* group, context& ctx) {
  auto o = std::make_shared<import_options>();
  auto* command =
      group->add_subcommand("import-crontab", "Make jobs of a crontab, each doing what cron did");
  command->add_option("FILE", o->file, "The crontab; - = standard input")->required();
  command->add_flag("--system", o->system,
                    "As /etc/crontab and /etc/cron.d: a user stands before the command");
  command
      ->add_option("--user", o->user,
                   "Whose crontab it is: commands run as that user, in their home; unset: as "
                   "the node runs")
      ->type_name("NAME");
  command
      ->add_option("--tz", o->timezone, "Time zone of entries without CRON_TZ; unset: the node's")
      ->type_name("ZONE");
  command->add_option("--prefix", o->prefix, "Put before each id, to keep crontabs apart")
      ->type_name("TEXT");
  command->add_flag("--dry-run", o->dry_run,
                    "Only show what each line becomes, with its next times (no node needed)");
  command->add_flag(
      "--replace", o->replace,
      "Replace jobs that are there, as from an import before. What has not changed is left "
      "alone; what is paused stays so");
  add_server_option(command, *o);
  add_json_option(command, *o);
  command->footer(
      "Bad lines are all told, as FILE:LINE: field: reason, and then nothing is imported. An id is "
      "made of\nthe command and stays when its times change or its line moves.\n\nExamples:\n"
      "  crontab -l | lycosa job import-crontab - --dry-run\n"
      "  lycosa job import-crontab /etc/crontab --system --replace\n"
      "  crontab -u bob -l | lycosa job import-crontab - --user bob --prefix bob.");
  on_run(command, ctx, [o, &ctx] { return run_import(*o, ctx); });
}

} // namespace lycosa::cli
