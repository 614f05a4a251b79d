#include "cli/migrate_cmd.hpp"

namespace lycosa::cli {

namespace {

void add_databases(CLI::App* command, migrate_options& o) {
  command->add_option("--taskdb", o.taskdb, "Task database")->type_name("URL");
  command->add_option("--projectdb", o.projectdb, "Project database")->type_name("URL");
  command->add_option("--resultdb", o.resultdb, "Result database")->type_name("URL");
  command->add_option("--project", o.projects, "Only this project; may be repeated")
      ->type_name("NAME");
  command->add_option("--batch", o.batch, "Rows in one request")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add_server_option(command, o);
  add_json_option(command, o);
}

} // namespace

void add_migrate(CLI::App& app, context& ctx) {
  auto in = std::make_shared<migrate_options>();
  auto* import = app.add_subcommand("import", "Take over another scheduler's projects and tasks");
  import->require_subcommand(1);
  auto* from = import->add_subcommand("pyspider", "From pyspider's databases");
  add_databases(from, *in);
  from->add_flag("--dry-run", in->dry_run, "Read and count everything, write nothing");
  from->add_option("--state", in->state,
                   "File that remembers how far it came; a later run goes on there")
      ->type_name("FILE");
  from->footer(
      "URLs are pyspider's: sqlite:///data/task.db (four slashes for an absolute path),\n"
      "sqlite+taskdb:///…, mysql+taskdb://user:password@host:3306/taskdb, "
      "redis+taskdb://host:6379/0\n"
      "(tasks). The databases are only read.\n"
      "A project's tasks come before it runs: a new one is STOP until they are there, then it\n"
      "gets the status it had. An import may be broken off and repeated: what is here already\n"
      "and not older stays. Rows that cannot be taken are named and do not hold up the rest.\n"
      "At the end the counts of both sides are compared; exit 1 and the difference if they\n"
      "differ.\n\n"
      "Examples:\n"
      "  lycosa import pyspider --projectdb sqlite:///data/project.db \\\n"
      "    --taskdb sqlite:///data/task.db --resultdb sqlite:///data/result.db --dry-run");
  on_run(from, ctx, [in, &ctx] { return import_pyspider(*in, ctx); });

  auto out = std::make_shared<migrate_options>();
  auto* export_ = app.add_subcommand("export", "Write projects and tasks for another scheduler");
  export_->require_subcommand(1);
  auto* to = export_->add_subcommand("pyspider", "As pyspider's databases (SQLite)");
  add_databases(to, *out);
  to->footer("The files are made where they are missing; rows that are there are replaced.\n\n"
             "Examples:\n"
             "  lycosa export pyspider --projectdb sqlite:///data/project.db \\\n"
             "    --taskdb sqlite:///data/task.db --resultdb sqlite:///data/result.db");
  on_run(to, ctx, [out, &ctx] { return export_pyspider(*out, ctx); });
}

} // namespace lycosa::cli
