#include "cli/bench/lifecycle_load.hpp"
#include "cli/commands.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <memory>
#include <optional>
#include <ostream>

namespace lycosa::cli {

namespace {

struct bench_options : server_options {
  bench::lifecycle_options load;
};

/// The numeric host and port of `http://HOST:PORT`.
std::optional<std::pair<std::string, std::uint16_t>> split_url(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return std::nullopt;
  url.remove_prefix(scheme.size());
  while (url.ends_with('/'))
    url.remove_suffix(1);
  const auto colon = url.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  const auto digits = url.substr(colon + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{})
    return std::nullopt;
  return std::pair{std::string{url.substr(0, colon)}, port};
}

int run(const bench_options& o, context& ctx, const char* workload) {
  auto load = o.load;
  const auto where = split_url(o.url);
  if (!where)
    return ctx.complain(failure{bad_input, "--server", "must be http://NUMERIC-ADDRESS:PORT"});
  load.host = where->first;
  load.port = where->second;
  auto got = bench::run_lifecycle(load);
  if (!got) {
    if (got.error().code == errc::unavailable)
      return ctx.complain(failure{unreachable, got.error().what, got.error().why});
    return ctx.complain(got.error());
  }
  const auto rate =
      static_cast<double>(load.submit_only ? got->submitted : got->settled) / got->seconds;
  if (o.json) {
    ctx.out << nlohmann::json{{"workload", workload},
                              {"tasks", load.tasks},
                              {"batch", load.batch},
                              {"connections", load.connections},
                              {"seconds", got->seconds},
                              {"tasks_per_second", rate},
                              {"submitted", got->submitted},
                              {"leased", got->leased},
                              {"settled", got->settled},
                              {"delivered_twice", got->delivered_twice},
                              {"lost", got->lost}}
                   .dump()
            << std::endl;
  } else {
    ctx.out << workload << ": " << load.tasks << " tasks, batches of " << load.batch << ", "
            << load.connections << " connections: " << got->seconds << " s, "
            << static_cast<std::uint64_t>(rate) << " tasks/s; delivered twice "
            << got->delivered_twice << ", lost " << got->lost << std::endl;
  }
  return got->delivered_twice == 0 && got->lost == 0 ? done : failed;
}

void add_workload(CLI::App* parent, context& ctx, const char* name, const char* help,
                  bool submit_only) {
  auto* command = parent->add_subcommand(name, help);
  auto o = std::make_shared<bench_options>();
  o->load.submit_only = submit_only;
  add_server_option(command, *o);
  add_json_option(command, *o);
  command->add_option("--project", o->load.project, "Project to use; made if it is new")
      ->capture_default_str();
  command->add_option("--tasks", o->load.tasks, "How many tasks")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--batch", o->load.batch, "Tasks in one request")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--connections", o->load.connections, "Connections, one thread each")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--body", o->load.body, "Bytes of opaque JSON in a task, about")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  on_run(command, ctx, [o, &ctx, name] { return run(*o, ctx, name); });
}

} // namespace

void add_bench(CLI::App& app, context& ctx) {
  auto* group =
      app.add_subcommand("bench", "Load a node over HTTP and count every delivery (closed loop)");
  group->require_subcommand(1);
  add_workload(group, ctx, "lifecycle", "Submit, lease and report until every task is settled",
               false);
  add_workload(group, ctx, "submit", "Submit new tasks only", true);
}

} // namespace lycosa::cli
