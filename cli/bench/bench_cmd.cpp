#include "cli/bench/bench_place.hpp"
#include "cli/bench/show_figures.hpp"
#include "cli/bench/workloads.hpp"
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <ostream>
#include <span>

namespace lycosa::cli {

namespace {

using bench::load_options;

struct bench_options : load_options {
  bool json = false;
  std::string svg;
  unsigned repeat = 1;
};

struct workload {
  const char* name;
  const char* help;
  bench::load_result (*run)(bench::load_target&, const load_options&);      ///< null: another kind
  bench::load_result (*run_child)(bench::child_node&, const load_options&); ///< kills its node
  bool latency; ///< the plot is of percentiles
  void (*defaults)(load_options&);
  void (*options)(CLI::App*, bench_options&); ///< beside those of all
};

constexpr auto nothing = [](load_options&) {};
constexpr auto no_options = [](CLI::App*, bench_options&) {};

void add_rate(CLI::App* command, bench_options& o) {
  auto* option = command->add_option("--rate", o.rate,
                                     "Open loop: so many tasks a second, whatever the answers do");
  option->check(CLI::Range(0.001, 1e9));
  if (o.rate > 0) option->capture_default_str();
}

void add_seconds(CLI::App* command, bench_options& o) {
  command->add_option("--seconds", o.seconds, "How long")
      ->check(CLI::Range(0.1, 1e7))
      ->capture_default_str();
}

const workload workloads[] = {
    {"lifecycle", "Submit, lease and report until every task is settled", bench::run_lifecycle,
     nullptr, false, nothing, add_rate},
    {"submit", "Submit new tasks only", bench::run_submit, nullptr, false, nothing, add_rate},
    {"lease", "Only lease tasks that were submitted before", bench::run_lease, nullptr, false,
     nothing, no_options},
    {"report", "Only report tasks that were leased before", bench::run_report, nullptr, false,
     nothing, no_options},
    {"duplicates", "A stream of which many tasks are known and crawled", bench::run_duplicates,
     nullptr, false, nothing,
     [](CLI::App* command, bench_options& o) {
       command->add_option("--share", o.share, "Of the tasks sent, how many are known (0 to 1)")
           ->check(CLI::Range(0.0, 1.0))
           ->capture_default_str();
     }},
    {"hosts", "Tasks of many projects, most of them of a few", bench::run_hosts, nullptr, false,
     nothing,
     [](CLI::App* command, bench_options& o) {
       command->add_option("--projects", o.projects, "How many projects, NAME-0 and so on")
           ->check(CLI::Range(2, 200'000))
           ->capture_default_str();
       command->add_option("--skew", o.skew, "Zipf's exponent; 0 = all alike")
           ->check(CLI::Range(0.0, 10.0))
           ->capture_default_str();
     }},
    {"delayed", "Tasks that come due over the next seconds: how late they arrive",
     bench::run_delayed, nullptr, true, [](load_options& o) { o.tasks = 50'000; },
     [](CLI::App* command, bench_options& o) {
       command->add_option("--spread", o.spread, "Seconds over which a batch comes due")
           ->check(CLI::Range(0.0, 86'400.0))
           ->capture_default_str();
     }},
    {"recrawl", "The same tasks again, because of their age or itag", bench::run_recrawl, nullptr,
     false, [](load_options& o) { o.tasks = 100'000; },
     [](CLI::App* command, bench_options& o) {
       command->add_option("--rounds", o.rounds, "Crawls of each task; the first is not measured")
           ->check(CLI::Range(2, 1000))
           ->capture_default_str();
     }},
    {"jobs", "Jobs that queue a task at their time: how late it arrives", bench::run_jobs, nullptr,
     true, nothing,
     [](CLI::App* command, bench_options& o) {
       command->add_option("--jobs", o.jobs, "How many fire in a second")
           ->check(CLI::Range(1, 100'000))
           ->capture_default_str();
       add_seconds(command, o);
       command
           ->add_option("--trigger", o.trigger,
                        "date (a job for each firing) or interval (jobs that repeat)")
           ->check(CLI::IsMember({"date", "interval"}))
           ->capture_default_str();
       command->add_flag("--together", o.together,
                         "All at the full second, not spread evenly over it");
     }},
    {"latency", "Open loop: from when a submit is due to its arrival at a waiting consumer",
     bench::run_latency, nullptr, true,
     [](load_options& o) {
       o.rate = 1000;
       o.tasks = 10'000;
       o.batch = 1;
       o.connections = 16;
     },
     add_rate},
    {"restart", "Kill a node with a full queue; time until it leases again", nullptr,
     bench::run_restart, false, [](load_options& o) { o.tasks = 1'000'000; }, no_options},
    {"memory", "Memory a queued task takes", nullptr, bench::run_memory, false,
     [](load_options& o) { o.tasks = 1'000'000; }, no_options},
    {"soak", "Lifecycle for a time, a line an interval", nullptr, nullptr, false, nothing,
     [](CLI::App* command, bench_options& o) {
       add_rate(command, o);
       add_seconds(command, o);
       command->add_option("--interval", o.interval, "Seconds that a line stands for")
           ->check(CLI::Range(0.1, 86'400.0))
           ->capture_default_str();
     }},
};

/// The batch of an open loop that names none: a tenth of a second's tasks at most. A larger one
/// would go out seldom, and all at once.
void fit_batch(load_options& o) {
  if (o.rate <= 0) return;
  const auto tenth = static_cast<std::uint32_t>(std::min(o.rate / 10, 1e6));
  o.batch = std::clamp(tenth, 1U, o.batch);
}

/// Sizes that are through in a second or two, for a first look and for tests.
void make_small(load_options& o) {
  o.tasks = std::min<std::uint64_t>(o.tasks, o.batch == 1 ? 500 : 5000);
  o.batch = std::min(o.batch, 500U);
  o.projects = 50;
  o.spread = 0.5;
  o.jobs = 200;
  o.seconds = 1;
  o.interval = 0.5;
}

int complain(context& ctx, const error& e) {
  if (e.code == errc::unavailable) return ctx.complain(failure{unreachable, e.what, e.why});
  return ctx.complain(e);
}

/// The environment's server is for commands that need one; a node of one's own may be asked for.
result<void> choose_place(load_options& o) {
  if (o.server.empty() || (!o.embedded && o.data.empty() && o.sets.empty())) return {};
  const char* usual = std::getenv("LYCOSA_SERVER");
  if (usual == nullptr || o.server != usual)
    return fail(errc::invalid_argument, "--server",
                "stands against --embedded, --data and --set, which are about a node of its own");
  o.server.clear();
  return {};
}

bench::load_result run_once(const workload& w, const bench_options& o, context& ctx) {
  auto place = bench::bench_place::make(o, ctx.err);
  if (!place) return tl::unexpected(place.error());
  if (w.run != nullptr) return w.run((*place)->target(), o);
  if (w.run_child != nullptr) return w.run_child(*(*place)->child(), o);
  return bench::run_soak((*place)->target(), o, o.json ? ctx.err : ctx.out);
}

int run(const workload& w, const bench_options& given, context& ctx) {
  auto o = given;
  if (auto ok = choose_place(o); !ok) return ctx.complain(ok.error());
  const bench::interrupt_guard guard;
  std::vector<bench::load_figures> runs;
  for (unsigned i = 0; i < o.repeat; ++i) {
    auto got = run_once(w, o, ctx);
    if (!got) return complain(ctx, got.error());
    runs.push_back(std::move(*got));
  }
  if (o.json)
    ctx.out << bench::to_json(w.name, o, runs) << std::endl;
  else
    bench::show_table(ctx.out, w.name, o, runs);
  if (!o.svg.empty()) {
    std::ofstream file{o.svg};
    file << bench::to_plot(w.name, o, runs[bench::median_of(runs)], w.latency);
    if (!file.flush()) return ctx.complain(failure{failed, o.svg, "cannot be written"});
  }
  for (const auto& f : runs)
    if (!f.exact())
      return ctx.complain(failure{
          failed, w.name, f.fault.empty() ? "tasks were delivered twice or not at all" : f.fault});
  return done;
}

void add_place_options(CLI::App* command, bench_options& o, bool embedded) {
  if (embedded) command->add_flag("--embedded", o.embedded, "A node in this process, without HTTP");
  command
      ->add_option("--data", o.data, "Directory of the node it serves, kept; else a temporary one")
      ->type_name("DIR");
  command->add_option("--set", o.sets, "A setting of the node it serves, SECTION.KEY=VALUE")
      ->type_name("SETTING")
      ->allow_extra_args(false);
}

void add_load_options(CLI::App* command, bench_options& o) {
  command->add_option("--project", o.project, "Project to use; made if it is new")
      ->capture_default_str();
  command
      ->add_option("--batch", o.batch,
                   "Tasks in one request; with --rate and not named, a tenth of it at most")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--connections", o.connections, "Connections; few threads share them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--body", o.body, "Bytes of opaque JSON in a task, about")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
}

void add_workload(CLI::App* parent, context& ctx, const workload& w) {
  auto* command = parent->add_subcommand(w.name, w.help);
  auto o = std::make_shared<bench_options>();
  w.defaults(*o);
  if (w.run_child == nullptr)
    command
        ->add_option("--server", o->server,
                     "Address of the node; also from LYCOSA_SERVER; none = serves one itself")
        ->envname("LYCOSA_SERVER")
        ->type_name("URL");
  add_place_options(command, *o, w.run_child == nullptr);
  command->add_flag("--json", o->json, "Print JSON for programs instead of a table");
  command->add_option("--svg", o->svg, "Write a plot of the run there")->type_name("FILE");
  command->add_option("--repeat", o->repeat, "Runs; the one with the median rate is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  // How many there are follows from other options there.
  if (const std::string_view name = w.name; name != "jobs" && name != "soak")
    command->add_option("--tasks", o->tasks, "How many tasks")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
        ->capture_default_str();
  add_load_options(command, *o);
  w.options(command, *o);
  on_run(command, ctx, [o, command, &ctx, &w] {
    if (command->count("--batch") == 0) fit_batch(*o);
    return run(w, *o, ctx);
  });
}

/// Every workload in turn, each on a fresh node.
void add_all(CLI::App* parent, context& ctx) {
  struct all_options : bench_options {
    bool small = false;
  };
  auto* command = parent->add_subcommand("all", "Every workload in turn, each on a fresh node");
  auto o = std::make_shared<all_options>();
  command->add_flag("--small", o->small, "Sizes that are through in a minute");
  command->add_flag("--embedded", o->embedded,
                    "Nodes in this process; leaves out what kills its node");
  command->add_option("--set", o->sets, "A setting of the nodes, SECTION.KEY=VALUE")
      ->type_name("SETTING")
      ->allow_extra_args(false);
  command->add_flag("--json", o->json, "Print JSON for programs instead of tables");
  on_run(command, ctx, [o, &ctx] {
    int worst = done;
    for (const auto& w : workloads) {
      if (o->embedded && w.run_child != nullptr) continue;
      bench_options one = *o;
      w.defaults(one);
      if (o->small) make_small(one);
      worst = std::max(worst, run(w, one, ctx));
      if (worst == unreachable) break; // nothing starts here, or the user has had enough
    }
    return worst;
  });
}

} // namespace

void add_bench(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "bench", "Load a node and count every delivery; serves one itself if none is named");
  group->require_subcommand(1);
  for (const auto& w : workloads)
    add_workload(group, ctx, w);
  add_all(group, ctx);
}

} // namespace lycosa::cli
