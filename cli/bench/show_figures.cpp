#include "cli/bench/show_figures.hpp"

#include "cli/bench/plot.hpp"
#include "cli/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

namespace lycosa::cli::bench {

namespace {

constexpr double shown[] = {50, 90, 99, 99.9};

double ms(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

std::string ms_text(std::uint64_t ns) {
  return fmt::format("{:.3f}", ms(ns));
}

plot rate_plot(const load_figures& f) {
  plot p;
  p.x_title = "time (s)";
  p.y_title = "tasks a second";
  const auto slot = std::chrono::duration<double>(load_figures::slot).count();
  plot::line line{"tasks", {}};
  // The last slot is cut short by the end and would look like a fall. Of a long run each point
  // stands for several slots.
  const auto whole = f.timeline.size() > 1 ? f.timeline.size() - 1 : f.timeline.size();
  const auto step = std::max<std::size_t>(1, whole / 60);
  for (std::size_t i = 0; i + step <= whole; i += step) {
    const auto from = f.timeline.begin() + static_cast<std::ptrdiff_t>(i);
    const auto sum =
        std::accumulate(from, from + static_cast<std::ptrdiff_t>(step), std::uint64_t{0});
    const auto width = slot * static_cast<double>(step);
    line.points.emplace_back(slot * static_cast<double>(i) + width / 2,
                             static_cast<double>(sum) / width);
  }
  p.lines.push_back(std::move(line));
  return p;
}

/// Percentiles by the number of nines, so that the tail has room.
plot latency_plot(const load_figures& f) {
  plot p;
  p.x_title = "percentile";
  p.y_title = "milliseconds";
  const auto nines = [](double percent) { return -std::log10(1 - percent / 100); };
  for (const auto& [percent, name] :
       {std::pair{0.0, "0"}, {90.0, "90"}, {99.0, "99"}, {99.9, "99.9"}, {99.99, "99.99"}})
    p.x_ticks.push_back({nines(percent), name});
  for (const auto& l : f.latencies) {
    plot::line line{l.name, {}};
    for (double x = 0; x <= 4.001; x += 0.05)
      line.points.emplace_back(x, ms(l.values.percentile(100 * (1 - std::pow(10, -x)))));
    p.lines.push_back(std::move(line));
  }
  return p;
}

} // namespace

std::size_t median_of(const std::vector<load_figures>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return runs[a].rate() < runs[b].rate(); });
  return order[(order.size() - 1) / 2];
}

void show_table(std::ostream& out, std::string_view workload, const load_options& options,
                const std::vector<load_figures>& runs) {
  const auto& f = runs[median_of(runs)];
  out << workload << ": " << grouped(f.counted) << " tasks in " << fmt::format("{:.3f}", f.seconds)
      << " s, " << grouped(static_cast<std::uint64_t>(f.rate())) << " tasks/s ("
      << (options.rate > 0 ? fmt::format("open loop at {:.6g}/s, ", options.rate) : std::string{})
      << "batches of " << options.batch << ", " << options.connections << " connections)\n";
  if (runs.size() > 1) {
    out << "  median of " << runs.size() << ":";
    for (const auto& r : runs)
      out << ' ' << grouped(static_cast<std::uint64_t>(r.rate()));
    out << " tasks/s\n";
  }
  out << "  submitted " << grouped(f.submitted) << ", leased " << grouped(f.leased) << ", settled "
      << grouped(f.settled) << "; delivered twice " << f.delivered_twice << ", lost " << f.lost
      << '\n';
  for (const auto& [name, value] : f.extras)
    out << "  " << name << ' ' << fmt::format("{:.10g}", value) << '\n';
  if (!f.latencies.empty()) {
    table t{{{"milliseconds"},
             {"p50", true},
             {"p90", true},
             {"p99", true},
             {"p99.9", true},
             {"max", true},
             {"count", true}}};
    for (const auto& l : f.latencies) {
      std::vector<std::string> row{l.name};
      for (const auto percent : shown)
        row.push_back(ms_text(l.values.percentile(percent)));
      row.push_back(ms_text(l.values.max()));
      row.push_back(grouped(l.values.count()));
      t.add(std::move(row));
    }
    t.print(out);
  }
  out.flush();
}

std::string to_json(std::string_view workload, const load_options& options,
                    const std::vector<load_figures>& runs) {
  const auto& f = runs[median_of(runs)];
  nlohmann::ordered_json o{{"workload", workload},     {"tasks", f.counted},
                           {"batch", options.batch},   {"connections", options.connections},
                           {"seconds", f.seconds},     {"tasks_per_second", f.rate()},
                           {"submitted", f.submitted}, {"leased", f.leased},
                           {"settled", f.settled},     {"delivered_twice", f.delivered_twice},
                           {"lost", f.lost},           {"exact", f.exact()}};
  if (!f.fault.empty()) o["fault"] = f.fault;
  if (options.rate > 0) o["rate"] = options.rate;
  for (const auto& [name, value] : f.extras) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value)
      o[name] = whole;
    else
      o[name] = value;
  }
  for (const auto& l : f.latencies) {
    auto& at = o["latency_ms"][l.key];
    for (const auto percent : shown)
      at[fmt::format("p{:g}", percent)] = ms(l.values.percentile(percent));
    at["mean"] = l.values.mean() / 1e6;
    at["max"] = ms(l.values.max());
    at["count"] = l.values.count();
  }
  if (runs.size() > 1)
    for (const auto& r : runs)
      o["all_tasks_per_second"].push_back(r.rate());
  return o.dump();
}

std::string to_plot(std::string_view workload, const load_options& options, const load_figures& f,
                    bool latency) {
  auto p = latency && !f.latencies.empty() ? latency_plot(f) : rate_plot(f);
  p.title = fmt::format("lycosa bench {}", workload);
  p.subtitle = fmt::format("{} tasks, {} tasks/s, batches of {}, {} connections",
                           grouped(f.counted), grouped(static_cast<std::uint64_t>(f.rate())),
                           options.batch, options.connections);
  return to_svg(p);
}

} // namespace lycosa::cli::bench
