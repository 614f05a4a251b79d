#include "cli/bench/http_load.hpp"
#include "cli/bench/workloads.hpp"

#include <thread>

namespace lycosa::cli::bench {

// What a queue costs a node: how long it takes to be there again after a crash, and its memory.

namespace {

double since(load_clock::time_point start) {
  return std::chrono::duration<double>(load_clock::now() - start).count();
}

/// Seconds until the node says that all its queues are loaded.
result<double> until_ready(const child_node& node, load_clock::time_point start) {
  auto connection = load_connection::open(node.host(), node.port());
  if (!connection) return tl::unexpected(connection.error());
  while (since(start) < 600 && !interrupt_guard::interrupted()) {
    if ((*connection)->send("GET", "/readyz", {})) return since(start);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return fail(errc::unavailable, "/readyz", "not ready after ten minutes");
}

/// Reports what was leased, then leases and reports the rest.
result<void> drain(load_run& run, load_session& session, std::vector<leased_number> got) {
  auto progress = load_clock::now();
  while (!run.stopped() && run.settled < run.options.tasks && since(progress) < 30) {
    if (!got.empty()) {
      for (const auto& l : got)
        run.check.delivered(l.number);
      run.leased += got.size();
      auto n = session.report(got);
      if (!n) return tl::unexpected(n.error());
      run.settled += *n;
      progress = load_clock::now();
    }
    if (auto ok = session.lease(run.options.batch, 1, got); !ok) return ok;
  }
  return {};
}

} // namespace

load_result run_restart(child_node& node, const load_options& options) {
  auto before = http_target(node.host(), node.port());
  auto made = load_run::make(*before, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  run.measure(counted::submitted);
  if (auto ok = submit_first(run, options.tasks); !ok) return tl::unexpected(ok.error());
  run.measure(counted::nothing);
  node.kill();

  const auto start = load_clock::now();
  if (auto ok = node.start_again(); !ok) return tl::unexpected(ok.error());
  const auto serving = since(start);
  auto ready = std::make_shared<result<double>>(0.0);
  std::thread asker([&node, start, ready] { *ready = until_ready(node, start); });
  auto after = http_target(node.host(), node.port());
  auto session = after->open(run.names);
  std::vector<leased_number> got;
  result<void> leased;
  if (session)
    while (got.empty() && since(start) < 600 && leased && !run.stopped())
      leased = (*session)->lease(options.batch, 1, got);
  const auto first = since(start);
  asker.join();
  if (!session) return tl::unexpected(session.error());
  if (!leased) return tl::unexpected(leased.error());
  if (!*ready) return tl::unexpected(ready->error());
  if (auto ok = drain(run, **session, std::move(got)); !ok) return tl::unexpected(ok.error());
  auto f = run.figures(options.tasks);
  f.extras.emplace_back("serving_after_seconds", serving);
  f.extras.emplace_back("first_lease_after_seconds", first);
  f.extras.emplace_back("ready_after_seconds", **ready);
  return f;
}

load_result run_memory(child_node& node, const load_options& options) {
  auto target = http_target(node.host(), node.port());
  auto made = load_run::make(*target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  const auto before = node.anonymous_bytes();
  run.measure(counted::submitted);
  if (auto ok = submit_first(run, options.tasks); !ok) return tl::unexpected(ok.error());
  run.measure(counted::nothing);
  const auto after = node.anonymous_bytes();
  // A node started on the queue has it alone, without what passing the tasks on left behind.
  node.stop();
  if (auto ok = node.start_again(); !ok) return tl::unexpected(ok.error());
  if (auto ok = until_ready(node, load_clock::now()); !ok) return tl::unexpected(ok.error());
  const auto again = node.anonymous_bytes();
  auto f = run.figures({});
  if (run.created != options.tasks) f.fault = "not every task was new to the node";
  const auto each = [&](std::uint64_t bytes) {
    return bytes < before
               ? 0
               : static_cast<double>(bytes - before) / static_cast<double>(options.tasks);
  };
  f.extras.emplace_back("empty_bytes", static_cast<double>(before));
  f.extras.emplace_back("queued_bytes", static_cast<double>(after));
  f.extras.emplace_back("restarted_bytes", static_cast<double>(again));
  f.extras.emplace_back("bytes_per_queued_task", each(after));
  f.extras.emplace_back("bytes_per_queued_task_restarted", each(again));
  return f;
}

} // namespace lycosa::cli::bench
