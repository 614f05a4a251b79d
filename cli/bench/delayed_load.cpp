#include "cli/bench/workloads.hpp"
#include "cli/bench/zipf.hpp"

namespace lycosa::cli::bench {

namespace {

using wall_clock = std::chrono::system_clock;

std::int64_t wall_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(wall_clock::now().time_since_epoch())
      .count();
}

} // namespace

load_result run_delayed(load_target& target, const load_options& options) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  // When each is due; written before the task is sent, read when it arrives.
  std::vector<std::atomic<std::int64_t>> due(options.tasks);
  load_source source{options.tasks};
  const auto spread = options.spread * 1e6;
  const auto fill = [&](std::uint64_t first, std::uint64_t end, std::vector<load_task>& into) {
    // Counted from the batch: a task whose time came before it was sent would seem late.
    const auto now = wall_now() + 500'000;
    for (auto i = first; i < end; ++i) {
      due[i] = now + static_cast<std::int64_t>(fraction(i) * spread);
      into.push_back({.number = i, .exetime = due[i]});
    }
  };
  std::atomic<std::uint64_t> early{0};
  std::atomic<unsigned> place{0};
  const unsigned consumers = std::max(1U, options.connections / 2);
  const unsigned producers = std::max(1U, options.connections - consumers);
  run.measure(counted::settled);
  auto ok = run.each(producers + consumers, [&](load_client& client) -> result<void> {
    if (place++ < producers) {
      std::vector<load_task> tasks;
      while (!run.stopped()) {
        const auto [first, end] = source.take(options.batch);
        if (first == end) return {};
        tasks.clear();
        fill(first, end, tasks);
        if (auto sent = client.submit(tasks); !sent) return tl::unexpected(sent.error());
      }
      return {};
    }
    auto progress = load_clock::now();
    while (!run.stopped() && run.settled < options.tasks) {
      const auto settled = run.settled.load();
      auto got = client.lease(options.batch, 1);
      if (!got) return tl::unexpected(got.error());
      const auto now = wall_now();
      for (const auto& l : *got) {
        if (l.number >= options.tasks) continue;
        const auto late = now - due[l.number];
        if (late < 0) ++early;
        client.record(span_kind::lateness, std::chrono::microseconds{late});
      }
      if (auto reported = client.report(*got); !reported) return reported;
      if (run.settled != settled) progress = load_clock::now();
      if (load_clock::now() - progress > patience + std::chrono::duration<double>{options.spread})
        return {};
    }
    return {};
  });
  if (!ok) return tl::unexpected(ok.error());
  auto f = run.figures(options.tasks);
  if (early > 0) f.fault = std::to_string(early) + " tasks came before they were due";
  return f;
}

} // namespace lycosa::cli::bench
