#include "cli/bench/workloads.hpp"

#include <fmt/chrono.h>

#include <cmath>

namespace lycosa::cli::bench {

namespace {

using wall_clock = std::chrono::system_clock;
using microseconds = std::chrono::microseconds;

constexpr std::size_t jobs_a_request = 1000;
constexpr std::uint64_t sampled_jobs = 300; ///< whose history is read afterwards

microseconds wall_now() {
  return std::chrono::duration_cast<microseconds>(wall_clock::now().time_since_epoch());
}

std::string iso(microseconds at) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00", fmt::gmtime(whole.count()),
                     (at - whole).count());
}

/// N jobs that fire in each of S seconds: either N jobs of an interval, or N · S of one date each.
class job_plan {
public:
  explicit job_plan(const load_options& o)
      : o_(o), repeating_(o.trigger == "interval"),
        seconds_(static_cast<std::uint64_t>(std::max(1.0, std::round(o.seconds)))) {}

  [[nodiscard]] std::uint64_t jobs() const { return repeating_ ? o_.jobs : firings(); }
  [[nodiscard]] std::uint64_t firings() const { return o_.jobs * seconds_; }
  [[nodiscard]] bool repeating() const { return repeating_; }
  void start_at(microseconds start) { start_ = start; }
  /// When firing `n` of all is due; the firings of one job are `options.jobs` apart.
  [[nodiscard]] microseconds due(std::uint64_t n) const {
    const auto in_second = o_.together ? 0 : n % o_.jobs * 1'000'000 / o_.jobs;
    return start_ + microseconds{n / o_.jobs * 1'000'000 + in_second};
  }
  [[nodiscard]] std::string id(const task_names& names, std::uint64_t job) const {
    return "bench-" + names.run + std::to_string(job);
  }
  [[nodiscard]] std::string text(const task_names& names, std::uint64_t job) const {
    std::string trigger;
    if (repeating_)
      trigger = fmt::format(
          R"({{"type":"interval","seconds":1,"start_date":"{}","end_date":"{}"}})", iso(due(job)),
          iso(due(job + o_.jobs * (seconds_ - 1)) + microseconds{500'000}));
    else
      trigger = fmt::format(R"({{"type":"date","run_date":"{}"}})", iso(due(job)));
    return fmt::format(R"({{"id":"{}","trigger":{},"keep_finished":{},"action":{{"type":"task",)"
                       R"("task":{{"project":"{}","taskid":"{}{}","url":"data:,{}",)"
                       R"("schedule":{{"age":0,"force_update":true}}}}}}}})",
                       id(names, job), trigger, o_.server.empty(), names.project(job), names.run,
                       job, job);
  }

private:
  const load_options& o_;
  bool repeating_;
  std::uint64_t seconds_;
  microseconds start_{};
};

result<void> add_all(load_run& run, const job_plan& plan) {
  for (std::uint64_t i = 0; i < plan.jobs();) {
    std::string list = "[";
    for (std::size_t n = 0; n < jobs_a_request && i < plan.jobs(); ++n, ++i) {
      if (n > 0) list += ',';
      list += plan.text(run.names, i);
    }
    list += ']';
    if (auto ok = run.target.add_jobs(list); !ok) return ok;
  }
  return {};
}

/// Leases what the jobs queue until all their firings have come.
result<void> consume(load_run& run, const job_plan& plan,
                     std::vector<std::atomic<std::uint32_t>>& came) {
  std::atomic<std::uint64_t> got_all{0};
  return run.each(run.options.connections, [&](load_client& client) -> result<void> {
    auto progress = load_clock::now();
    while (!run.stopped() && got_all < plan.firings()) {
      auto got = client.lease(run.options.batch, 1, false);
      if (!got) return tl::unexpected(got.error());
      const auto now = wall_now();
      for (const auto& l : *got) {
        if (l.number >= came.size()) continue;
        const auto firing = l.number + std::uint64_t{came[l.number]++} * run.options.jobs;
        run.check.delivered(firing);
        client.record(span_kind::lateness, now - plan.due(firing));
      }
      got_all += got->size();
      if (auto ok = client.report(*got); !ok) return ok;
      if (!got->empty() || wall_now() < plan.due(0)) progress = load_clock::now();
      if (load_clock::now() - progress > patience) return {};
    }
    return {};
  });
}

} // namespace

load_result run_jobs(load_target& target, const load_options& options) {
  auto made = load_run::make(target, options);
  if (!made) return tl::unexpected(made.error());
  auto& run = **made;
  job_plan plan{options};
  // Some jobs must be there before their time, however long adding all takes: about 20,000 a
  // second.
  plan.start_at(std::chrono::ceil<std::chrono::seconds>(wall_now() + std::chrono::seconds{2}
                                                        + microseconds{plan.jobs() * 100}));
  const auto before = load_clock::now();
  if (auto ok = add_all(run, plan); !ok) return tl::unexpected(ok.error());
  const std::chrono::duration<double> adding = load_clock::now() - before;
  if (wall_now() >= plan.due(0))
    return fail(errc::unavailable, "jobs", "adding them took longer than the time set for it");

  std::vector<std::atomic<std::uint32_t>> came(plan.jobs());
  run.measure(counted::settled);
  run.begin += plan.due(0) - wall_now();
  if (auto ok = consume(run, plan, came); !ok) return tl::unexpected(ok.error());
  auto f = run.figures(plan.firings());
  f.extras.emplace_back("jobs", static_cast<double>(plan.jobs()));
  f.extras.emplace_back("jobs_added_per_second", static_cast<double>(plan.jobs()) / adding.count());
  if (!options.server.empty()) {
    // Jobs of a date are gone with their run; the others must not stay on somebody's node.
    for (std::uint64_t i = 0; plan.repeating() && i < plan.jobs(); ++i)
      (void)target.remove_job(plan.id(run.names, i));
    return f;
  }
  load_figures::latency decisions{"run_lateness", "lateness of a run", {}};
  const auto step = std::max<std::uint64_t>(1, plan.jobs() / sampled_jobs);
  for (std::uint64_t i = 0; i < plan.jobs(); i += step) {
    auto late = target.job_lateness(plan.id(run.names, i));
    if (!late) return tl::unexpected(late.error());
    for (const auto s : *late)
      decisions.values.record(static_cast<std::uint64_t>(std::max(0.0, s) * 1e9));
  }
  f.latencies.push_back(std::move(decisions));
  return f;
}

} // namespace lycosa::cli::bench
