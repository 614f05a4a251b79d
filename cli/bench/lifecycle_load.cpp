#include "cli/bench/workloads.hpp"

namespace lycosa::cli::bench {

void plain_tasks(std::uint64_t first, std::uint64_t end, std::vector<load_task>& into) {
  for (auto i = first; i < end; ++i)
    into.push_back({.number = i});
}

namespace {

/// Submits the source's next batch; the number of tasks.
result<std::uint64_t> submit_next(load_run& run, load_client& client, load_source& source,
                                  const task_filler& fill, std::vector<load_task>& tasks) {
  const auto [first, end] = source.take(run.options.batch);
  if (first == end) return 0;
  tasks.clear();
  fill(first, end, tasks);
  if (auto ok = client.submit(tasks); !ok) return tl::unexpected(ok.error());
  return end - first;
}

} // namespace

result<void> submit_all(load_run& run, load_source& source, const task_filler& fill) {
  return run.interleaved(run.options.connections, [&](load_client& client) -> result<void> {
    std::vector<load_task> tasks;
    while (!run.stopped()) {
      auto n = submit_next(run, client, source, fill, tasks);
      if (!n) return tl::unexpected(n.error());
      if (*n == 0) return {};
    }
    return {};
  });
}

result<void> submit_first(load_run& run, std::uint64_t tasks) {
  load_source source{tasks};
  return submit_all(run, source, plain_tasks);
}

result<void> closed_loop(load_run& run, load_source& source, const task_filler& fill,
                         std::optional<std::uint64_t> until) {
  std::atomic<load_clock::time_point> progress{load_clock::now()};
  return run.interleaved(run.options.connections, [&](load_client& client) -> result<void> {
    std::vector<load_task> tasks;
    while (!run.stopped()) {
      auto submitted = submit_next(run, client, source, fill, tasks);
      if (!submitted) return tl::unexpected(submitted.error());
      if (source.dry() && run.settled >= until.value_or(source.size())) return {};
      auto got = client.lease(run.options.batch, *submitted > 0 ? 0 : 1);
      if (!got) return tl::unexpected(got.error());
      if (auto ok = client.report(*got); !ok) return ok;
      if (*submitted > 0 || !got->empty()) progress = load_clock::now();
      if (load_clock::now() - progress.load() > patience) return {};
    }
    return {};
  });
}

load_result run_lifecycle(load_target& target, const load_options& options) {
  auto run = load_run::make(target, options);
  if (!run) return tl::unexpected(run.error());
  load_source source{options.tasks};
  (*run)->measure(counted::settled);
  auto ok =
      options.rate > 0 ? open_loop(**run, source, true) : closed_loop(**run, source, plain_tasks);
  if (!ok) return tl::unexpected(ok.error());
  return (*run)->figures(options.tasks);
}

load_result run_submit(load_target& target, const load_options& options) {
  auto run = load_run::make(target, options);
  if (!run) return tl::unexpected(run.error());
  load_source source{options.tasks};
  (*run)->measure(counted::submitted);
  auto ok =
      options.rate > 0 ? open_loop(**run, source, false) : submit_all(**run, source, plain_tasks);
  if (!ok) return tl::unexpected(ok.error());
  auto f = (*run)->figures({});
  if ((*run)->created != options.tasks) f.fault = "not every task was new to the node";
  return f;
}

} // namespace lycosa::cli::bench
