#include "cli/bench/workloads.hpp"

namespace lycosa::cli::bench {

namespace {

/// Submit all, lease all, report all, one after the other; measures one of the three.
load_result phases(load_target& target, const load_options& options, counted what) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  if (auto ok = submit_first(run, options.tasks); !ok) return tl::unexpected(ok.error());

  std::mutex mutex;
  std::vector<std::vector<leased_number>> batches;
  if (what == counted::leased) run.measure(what);
  auto leased = run.each(options.connections, [&](load_client& client) -> result<void> {
    auto progress = load_clock::now();
    while (!run.stopped() && run.leased < options.tasks) {
      auto got = client.lease(options.batch, 1);
      if (!got) return tl::unexpected(got.error());
      if (!got->empty()) {
        progress = load_clock::now();
        const std::lock_guard lock(mutex);
        batches.emplace_back(got->begin(), got->end());
      }
      if (load_clock::now() - progress > patience) return {};
    }
    return {};
  });
  if (!leased) return tl::unexpected(leased.error());
  run.measure(counted::nothing);

  if (what == counted::settled) run.measure(what);
  std::atomic<std::size_t> next{0};
  auto reported = run.each(options.connections, [&](load_client& client) -> result<void> {
    while (!run.stopped()) {
      const auto at = next++;
      if (at >= batches.size()) return {};
      if (auto ok = client.report(batches[at]); !ok) return ok;
    }
    return {};
  });
  if (!reported) return tl::unexpected(reported.error());
  auto f = run.figures(options.tasks);
  if (run.settled != options.tasks) f.fault = "not every report settled its task";
  return f;
}

} // namespace

load_result run_lease(load_target& target, const load_options& options) {
  return phases(target, options, counted::leased);
}

load_result run_report(load_target& target, const load_options& options) {
  return phases(target, options, counted::settled);
}

} // namespace lycosa::cli::bench
