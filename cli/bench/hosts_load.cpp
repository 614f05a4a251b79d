#include "cli/bench/workloads.hpp"
#include "cli/bench/zipf.hpp"

#include <algorithm>

namespace lycosa::cli::bench {

load_result run_hosts(load_target& target, const load_options& options) {
  auto made = load_run::make(target, options, options.projects);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  // On a node of its own nobody else's tasks can come along; elsewhere the projects are named.
  run.names.from_all = options.server.empty();
  const zipf sites{options.projects, options.skew};
  run.names.project_of.reserve(options.tasks);
  std::vector<bool> used(options.projects);
  for (std::uint64_t i = 0; i < options.tasks; ++i) {
    const auto site = sites.rank(fraction(i));
    used[site] = true;
    run.names.project_of.push_back(static_cast<std::uint32_t>(site));
  }
  load_source source{options.tasks};
  run.measure(counted::settled);
  if (auto ok = closed_loop(run, source, plain_tasks); !ok) return tl::unexpected(ok.error());
  auto f = run.figures(options.tasks);
  f.extras.emplace_back("projects_with_tasks",
                        static_cast<double>(std::count(used.begin(), used.end(), true)));
  return f;
}

} // namespace lycosa::cli::bench
