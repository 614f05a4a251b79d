#include "cli/bench/workloads.hpp"
#include "cli/bench/zipf.hpp"

#include <cmath>

namespace lycosa::cli::bench {

// A crawler finds the same links again and again. Some tasks are crawled first; then comes a stream
// in which a share of the places, evenly spread, names one of those, and the rest are new.

namespace {

class stream_plan {
public:
  explicit stream_plan(const load_options& o)
      : share_(o.share),
        known_(std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(static_cast<double>(o.tasks) * o.share))) {}

  [[nodiscard]] std::uint64_t known() const { return known_; }
  /// How many of the first `place` places name a known task.
  [[nodiscard]] std::uint64_t repeats(std::uint64_t place) const {
    return static_cast<std::uint64_t>(std::floor(static_cast<double>(place) * share_));
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t place) const {
    const auto before = repeats(place);
    return repeats(place + 1) > before ? mix(place) % known_ : known_ + place - before;
  }

private:
  double share_;
  std::uint64_t known_;
};

} // namespace

load_result run_duplicates(load_target& target, const load_options& options) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  const stream_plan plan{options};
  load_source first{plan.known()};
  if (auto ok = closed_loop(run, first, plain_tasks); !ok) return tl::unexpected(ok.error());

  const auto repeats = plan.repeats(options.tasks);
  const auto fresh = options.tasks - repeats;
  load_source source{options.tasks};
  run.measure(counted::submitted);
  auto ok = closed_loop(
      run, source,
      [&](std::uint64_t begin, std::uint64_t end, std::vector<load_task>& into) {
        for (auto place = begin; place < end; ++place)
          into.push_back({.number = plan.number(place)});
      },
      plan.known() + fresh);
  if (!ok) return tl::unexpected(ok.error());
  // The rate is of tasks sent, known or not, over the time until the last new one is settled.
  auto f = run.figures(plan.known() + fresh);
  const std::chrono::duration<double> settled = run.settled_at() - run.begin;
  f.seconds = std::max(f.seconds, settled.count());
  f.extras.emplace_back("known_tasks_sent", static_cast<double>(repeats));
  if (run.ignored != repeats || run.created != plan.known() + fresh)
    f.fault = "the node did not tell known tasks from new ones";
  return f;
}

} // namespace lycosa::cli::bench
