#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/event_stream.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

namespace lycosa::cli {

namespace {

struct events_options : server_options {
  std::string types, job, project, after;
  std::uint64_t count = 0;
};

/// Time, type, what it is about, and what there is to say of it.
std::string to_line(const stream_event& e) {
  const auto o = json::parse(e.data, nullptr, false);
  if (!o.is_object()) return e.type + " " + printable(e.data);
  std::string out = time_text(o.value("at", 0.0)) + "  " + e.type;
  const auto add = [&out](const json& from, const char* name, const char* label) {
    const auto found = from.find(name);
    if (found == from.end() || found->is_null()) return;
    out += std::string("  ") + label
           + printable(found->is_string() ? found->get<std::string>() : found->dump());
  };
  add(o, "job_id", "");
  add(o, "project", "");
  add(o, "status", "status=");
  add(o, "count", "count=");
  add(o, "reason", "");
  add(o, "alias", "");
  add(o, "missing", "missing=");
  if (o.contains("earlier_run")) out += "  events of the node's earlier run are missing";
  if (const auto run = o.find("run"); run != o.end() && run->is_object()) {
    add(*run, "run", "run=");
    add(*run, "attempt", "attempt=");
    add(*run, "exit_code", "exit=");
    add(*run, "http_status", "status=");
    add(*run, "error", "");
    add(*run, "reason", "");
  }
  return out;
}

int events(const events_options& o, context& ctx) {
  std::string path = "/v1/events?types=" + url_encode(o.types) + "&job=" + url_encode(o.job)
                     + "&project=" + url_encode(o.project);
  std::string last = o.after;
  std::uint64_t left = o.count;
  bool seen = false;
  auto wait = std::chrono::milliseconds{250};
  for (;;) {
    bool full = false;
    const auto end = follow(o.url, path, last, [&](const stream_event& e) {
      last = e.id;
      ctx.out << (o.json ? e.data : to_line(e)) << std::endl;
      full = left > 0 && --left == 0;
      return !full;
    });
    if (full) return done;
    seen = seen || end.connected;
    // Before the first connection a failure is told; afterwards the node is waited for.
    if (!seen || (!end.connected && end.why.code != unreachable)) return ctx.complain(end.why);
    if (end.connected) wait = std::chrono::milliseconds{250};
    std::this_thread::sleep_for(wait);
    wait = std::min(wait * 2, std::chrono::milliseconds{10'000});
  }
}

} // namespace

void add_events(CLI::App& app, context& ctx) {
  auto o = std::make_shared<events_options>();
  auto* command = app.add_subcommand("events", "Follow what happens, one event a line");
  command->add_option("--types", o->types, "Only these, e.g. job_error,job_missed; unset: all")
      ->type_name("TYPES");
  command->add_option("--job", o->job, "Only those about this job")->type_name("ID");
  command->add_option("--project", o->project, "Only those about this project")->type_name("NAME");
  command
      ->add_option("--since,--after", o->after,
                   "Begin after the event with this id; 0: with the oldest the node holds")
      ->type_name("ID");
  command->add_option("-n", o->count, "End after so many events; 0: go on until Ctrl-C")
      ->type_name("N")
      ->capture_default_str();
  add_server_option(command, *o);
  add_json_option(command, *o);
  command->footer("When the connection breaks it is made again, and the stream goes on where it "
                  "was; what the node\nholds no more is told as a GAP. docs/events.md has every "
                  "event.\n\nExamples:\n"
                  "  lycosa events --types job_error,job_missed,job_lost\n"
                  "  lycosa events --job backup --since 0 --json");
  on_run(command, ctx, [o, &ctx] { return events(*o, ctx); });
}

} // namespace lycosa::cli
