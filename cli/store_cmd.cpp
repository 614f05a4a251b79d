#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "storage/maintenance.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <ostream>
#include <string>

namespace lycosa::cli {

namespace {

using ordered = nlohmann::ordered_json;

struct store_options {
  std::string data;
  std::string archive;
  bool json = false;
};

int check(const store_options& o, context& ctx) {
  auto report = storage::check_data_dir(o.data);
  if (!report) return ctx.complain(report.error());
  if (o.json) {
    ctx.out << ordered{{"ok", report->ok},
                       {"problems", report->problems},
                       {"problem_count", report->problem_count},
                       {"shards", report->shards},
                       {"projects", report->projects},
                       {"tasks", report->tasks},
                       {"active", report->active},
                       {"settled", report->settled},
                       {"results", report->results},
                       {"log_batches", report->log_batches},
                       {"jobs", report->jobs},
                       {"job_runs", report->job_runs}}
                   .dump(-1, ' ', false, ordered::error_handler_t::replace)
            << std::endl;
  } else {
    for (const auto& problem : report->problems)
      ctx.out << printable(problem) << '\n';
    ctx.out << o.data << ": " << grouped(report->tasks) << " tasks (" << grouped(report->active)
            << " active), " << grouped(report->results) << " results in " << report->shards
            << " shards, " << grouped(report->jobs)
            << " jobs: " << (report->ok ? "good" : grouped(report->problem_count) + " problems")
            << std::endl;
  }
  if (report->ok) return done;
  // Which they are is told on standard output.
  return ctx.complain(
      failure{failed, o.data,
              "is damaged: " + grouped(report->problem_count)
                  + (report->problem_count == 1 ? " problem was found" : " problems were found")});
}

int stats(const store_options& o, context& ctx) {
  auto got = storage::stats_data_dir(o.data);
  if (!got) return ctx.complain(got.error());
  if (o.json) {
    ordered shards = ordered::array();
    for (const auto& s : got->shards)
      shards.push_back({{"tasks", s.tasks},
                        {"active", s.active},
                        {"results", s.results},
                        {"last_lsn", s.last_lsn},
                        {"epoch", s.epoch},
                        {"file_bytes", s.file_bytes},
                        {"used_bytes", s.used_bytes},
                        {"map_bytes", s.map_bytes}});
    ordered all{{"format", got->format},
                {"epoch", got->epoch},
                {"projects", got->projects},
                {"catalog_bytes", got->catalog_bytes}};
    std::uint64_t tasks = 0;
    std::uint64_t active = 0;
    for (const auto& s : got->shards) {
      tasks += s.tasks;
      active += s.active;
    }
    all["tasks"] = tasks;
    all["active"] = active;
    all["shards"] = std::move(shards);
    ctx.out << all.dump() << std::endl;
    return done;
  }
  ctx.out << "format " << got->format << ", epoch " << got->epoch << ", " << grouped(got->projects)
          << " projects, catalog " << bytes_text(got->catalog_bytes) << "\n";
  table t({{"SHARD", true},
           {"TASKS", true},
           {"ACTIVE", true},
           {"RESULTS", true},
           {"LSN", true},
           {"FILE", true},
           {"USED", true},
           {"MAP", true}});
  for (std::size_t i = 0; i < got->shards.size(); ++i) {
    const auto& s = got->shards[i];
    t.add({std::to_string(i), grouped(s.tasks), grouped(s.active), grouped(s.results),
           grouped(s.last_lsn), bytes_text(s.file_bytes), bytes_text(s.used_bytes),
           bytes_text(s.map_bytes)});
  }
  t.print(ctx.out);
  ctx.out.flush();
  return done;
}

int backup(const store_options& o, context& ctx) {
  if (auto ok = storage::backup_data_dir(o.data, o.archive); !ok) return ctx.complain(ok.error());
  ctx.out << o.archive << ": written\n" << std::flush;
  return done;
}

int restore(const store_options& o, context& ctx) {
  if (auto ok = storage::restore_data_dir(o.archive, o.data); !ok) return ctx.complain(ok.error());
  ctx.out << o.data << ": restored\n" << std::flush;
  return done;
}

std::shared_ptr<store_options> with_data(CLI::App* command) {
  auto options = std::make_shared<store_options>();
  command->add_option("--data", options->data, "Data directory of the node")
      ->required()
      ->type_name("DIR");
  return options;
}

} // namespace

void add_store(CLI::App& app, context& ctx) {
  auto* command = app.add_subcommand(
      "check", "Compare everything a data directory holds; also of a running node");
  auto options = with_data(command);
  command->add_flag("--json", options->json, "Print JSON for programs");
  command->footer("Exits with 1 and tells what is wrong, one problem a line. Changes nothing.");
  on_run(command, ctx, [options, &ctx] { return check(*options, ctx); });

  command = app.add_subcommand("stats", "Sizes, counts and versions of a data directory");
  options = with_data(command);
  command->add_flag("--json", options->json, "Print JSON for programs");
  on_run(command, ctx, [options, &ctx] { return stats(*options, ctx); });

  command =
      app.add_subcommand("backup", "Copy a data directory to one file; also of a running node");
  options = with_data(command);
  command->add_option("OUT", options->archive, "File to write; must not exist")->required();
  command->footer(
      "The file is a zstd-compressed tar with checksums. Each shard is copied as of one "
      "commit.\n\nExample:\n  lycosa backup --data data backup-$(date +%F).tar.zst");
  on_run(command, ctx, [options, &ctx] { return backup(*options, ctx); });

  command = app.add_subcommand("restore", "Unpack a backup into a new data directory");
  options = with_data(command);
  command->add_option("IN", options->archive, "File that lycosa backup wrote")->required();
  command->footer(
      "The directory must not exist or be empty; it appears only when every checksum is "
      "right.\n\nExample:\n  lycosa restore backup.tar.zst --data data");
  on_run(command, ctx, [options, &ctx] { return restore(*options, ctx); });
}

} // namespace lycosa::cli
