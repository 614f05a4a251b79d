#include "cli/bench/workloads.hpp"

namespace lycosa::cli::bench {

load_result run_recrawl(load_target& target, const load_options& options) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  std::uint64_t lost = 0;
  std::chrono::duration<double> seconds{}; // without the ends, in which connections wait in vain
  for (unsigned round = 0; round < options.rounds; ++round) {
    run.check.forget();
    if (round == 1) run.measure(counted::settled);
    load_source source{options.tasks};
    const auto start = load_clock::now();
    const auto fill = [round](std::uint64_t first, std::uint64_t end,
                              std::vector<load_task>& into) {
      // Every other one is due again because its crawl is not fresh any more, the others because
      // they have changed.
      for (auto i = first; i < end; ++i)
        into.push_back(
            {.number = i, .age = i % 2 == 0 ? 0 : -1, .itag = i % 2 == 0 ? 0 : round + 1});
    };
    if (auto ok = closed_loop(run, source, fill, options.tasks * (round + 1)); !ok)
      return tl::unexpected(ok.error());
    if (round > 0) seconds += run.settled_at() - start;
    lost += run.check.lost(options.tasks);
  }
  auto f = run.figures({});
  f.seconds = seconds.count();
  f.lost = lost;
  if (run.restarted != options.tasks * (options.rounds - 1))
    f.fault = std::to_string(run.restarted) + " tasks were restarted, not each in each round";
  return f;
}

} // namespace lycosa::cli::bench
