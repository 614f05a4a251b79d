#include "cli/bench/workloads.hpp"

#include <algorithm>
#include <condition_variable>
#include <iomanip>
#include <ostream>
#include <thread>

namespace lycosa::cli::bench {

namespace {

/// Tells how the run stands, a line an interval, and closes the source when the time is over.
class soak_watch {
public:
  soak_watch(load_run& run, load_source& source, std::ostream& say)
      : run_(run), source_(source), say_(say), thread_([this] { watch(); }) {}
  ~soak_watch() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  soak_watch(const soak_watch&) = delete;
  soak_watch& operator=(const soak_watch&) = delete;

private:
  void watch() {
    const auto step = std::chrono::duration_cast<load_clock::duration>(
        std::chrono::duration<double>{run_.options.interval});
    const auto end = run_.begin
                     + std::chrono::duration_cast<load_clock::duration>(
                         std::chrono::duration<double>{run_.options.seconds});
    auto next = run_.begin + step;
    std::uint64_t settled = 0;
    auto told = run_.begin;
    std::unique_lock lock(mutex_);
    while (!over_) {
      changed_.wait_until(lock, std::min(next, end));
      const auto now = load_clock::now();
      if (now >= end || run_.stopped()) {
        source_.close();
        return;
      }
      if (now < next) continue;
      const auto all = run_.settled.load();
      const std::chrono::duration<double> since = now - told, whole = now - run_.begin;
      say_ << std::fixed << std::setprecision(1) << whole.count() << " s: " << all << " settled, "
           << std::setprecision(0) << static_cast<double>(all - settled) / since.count()
           << " tasks/s, queued " << run_.submitted - std::min<std::uint64_t>(all, run_.submitted)
           << ", delivered twice " << run_.check.twice() << std::endl;
      settled = all;
      told = now;
      next = std::max(next + step, now);
    }
  }

  load_run& run_;
  load_source& source_;
  std::ostream& say_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

} // namespace

load_result run_soak(load_target& target, const load_options& options, std::ostream& say) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  // Of an open loop it is known what comes due before the end: nobody waits for more.
  const auto due = options.rate * options.seconds;
  load_source source{options.rate > 0 && due < delivery_check::limit
                         ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(due))
                         : delivery_check::limit};
  run.measure(counted::settled);
  {
    const soak_watch watch{run, source, say};
    auto ok =
        options.rate > 0 ? open_loop(run, source, true) : closed_loop(run, source, plain_tasks);
    if (!ok) return tl::unexpected(ok.error());
  }
  return run.figures(source.size());
}

} // namespace lycosa::cli::bench
