#include "cli/bench/workloads.hpp"

#include <thread>

namespace lycosa::cli::bench {

// A closed loop asks more slowly when the node is slow, and so leaves the worst moments out of its
// percentiles. Here each request has a moment at which it is due, and time counts from that moment:
// if the connections are all held up, the requests they should have sent are late, and say so.

namespace {

class timetable {
public:
  explicit timetable(const load_run& run)
      : begin_(run.begin), batch_(run.options.batch), rate_(run.options.rate) {}
  /// When the batch that begins with `first` goes out.
  [[nodiscard]] load_clock::time_point due(std::uint64_t first) const {
    const std::chrono::duration<double> after{static_cast<double>(first) / rate_};
    return begin_ + std::chrono::duration_cast<load_clock::duration>(after);
  }
  /// When the batch with this task went out.
  [[nodiscard]] load_clock::time_point due_with(std::uint64_t number) const {
    return due(number / batch_ * batch_);
  }

private:
  load_clock::time_point begin_;
  std::uint32_t batch_;
  double rate_;
};

/// Waits for a moment in steps that notice when the run is stopped.
void wait_until(const load_run& run, load_clock::time_point moment) {
  constexpr std::chrono::milliseconds step{200};
  while (!run.stopped()) {
    const auto now = load_clock::now();
    if (now >= moment) return;
    std::this_thread::sleep_until(std::min(moment, now + step));
  }
}

result<void> produce(load_run& run, load_client& client, load_source& source,
                     const timetable& times) {
  std::vector<load_task> tasks;
  while (!run.stopped()) {
    const auto [first, end] = source.take(run.options.batch);
    if (first == end) return {};
    tasks.clear();
    plain_tasks(first, end, tasks);
    const auto due = times.due(first);
    wait_until(run, due);
    if (auto ok = client.submit(tasks); !ok) return tl::unexpected(ok.error());
    client.record(span_kind::sent, load_clock::now() - due);
  }
  return {};
}

result<void> consume(load_run& run, load_client& client, const load_source& source,
                     const timetable& times) {
  auto progress = load_clock::now();
  const auto max = std::max<std::uint32_t>(run.options.batch, 100);
  while (!run.stopped()) {
    if (source.dry() && run.settled >= source.size()) return {};
    const auto handed_out = run.settled.load();
    auto got = client.lease(max, 1);
    if (!got) return tl::unexpected(got.error());
    const auto now = load_clock::now();
    for (const auto& l : *got)
      client.record(span_kind::to_lease, now - times.due_with(l.number));
    if (auto ok = client.report(*got); !ok) return ok;
    if (!source.dry() || run.settled != handed_out) progress = load_clock::now();
    if (load_clock::now() - progress > patience) return {};
  }
  return {};
}

} // namespace

result<void> open_loop(load_run& run, load_source& source, bool with_consumers) {
  const timetable times{run};
  const unsigned producers = run.options.connections;
  const unsigned consumers = with_consumers ? std::max(1U, run.options.connections / 2) : 0;
  std::atomic<unsigned> place{0};
  return run.each(producers + consumers, [&](load_client& client) {
    return place++ < producers ? produce(run, client, source, times)
                               : consume(run, client, source, times);
  });
}

load_result run_latency(load_target& target, const load_options& options) {
  return run_lifecycle(target, options);
}

} // namespace lycosa::cli::bench
