#pragma once

#include "cli/bench/delivery_check.hpp"
#include "cli/bench/histogram.hpp"
#include "cli/bench/load_options.hpp"
#include "cli/bench/load_target.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::cli::bench {

using load_clock = std::chrono::steady_clock;

/// What a run measured, and whether its deliveries were exact.
struct load_figures {
  struct latency {
    std::string key;  ///< for programs
    std::string name; ///< for people
    histogram values; ///< nanoseconds
  };
  double seconds = 0;
  std::uint64_t counted = 0; ///< tasks that the rate is about
  std::uint64_t submitted = 0, leased = 0, settled = 0;
  std::uint64_t delivered_twice = 0, lost = 0; ///< must be 0
  std::string fault;                           ///< what else was wrong; empty = nothing
  std::vector<latency> latencies;
  std::vector<std::pair<std::string, double>> extras; ///< name with its unit → value
  std::vector<std::uint64_t> timeline;                ///< `counted` by slots of time

  static constexpr std::chrono::milliseconds slot{100};
  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(counted) / seconds : 0;
  }
  [[nodiscard]] bool exact() const { return delivered_twice == 0 && lost == 0 && fault.empty(); }
};

/// What takes a while, each with a histogram.
enum class span_kind : std::uint8_t {
  submit,   ///< a submit call
  lease,    ///< a lease call, with what it waited
  report,   ///< a report call
  sent,     ///< from when a request was due to its answer: counts what held the sender up
  to_lease, ///< from when a submit was due to its tasks' arrival at a consumer
  lateness, ///< from when a task was due to its arrival at a consumer
  count
};

/// Which tasks the rate and the plot over time are about.
enum class counted : std::uint8_t { nothing, submitted, leased, settled };

class load_run;

/// A session of one thread, with instruments.
class load_client {
public:
  load_client(load_run& run, std::unique_ptr<load_session> session)
      : run_(run), session_(std::move(session)) {}

  result<submit_counts> submit(const std::vector<load_task>& tasks);
  /// What was handed out, until the next call. Each is noted as delivered if `check`.
  result<std::span<const leased_number>> lease(std::uint32_t max, unsigned wait, bool check = true);
  result<void> report(std::span<const leased_number> done);
  /// Notes how long something took, if the run measures now. Negative counts as 0.
  void record(span_kind what, load_clock::duration took, std::uint64_t times = 1);

private:
  friend class load_run;
  void count(counted what, std::uint64_t n);

  load_run& run_;
  std::unique_ptr<load_session> session_;
  std::vector<leased_number> leased_;
  std::array<histogram, static_cast<std::size_t>(span_kind::count)> spans_;
  std::vector<std::uint64_t> timeline_;
};

/// Numbers handed out in batches to whoever submits. Any thread.
class load_source {
public:
  explicit load_source(std::uint64_t size) : size_(size) {}
  /// The next numbers, from first to before second; equal = there are no more.
  std::pair<std::uint64_t, std::uint64_t> take(std::uint32_t most) {
    const std::lock_guard lock(mutex_);
    const auto first = next_;
    next_ = std::min(size_, next_ + most);
    return {first, next_};
  }
  /// No more than have been taken.
  void close() {
    const std::lock_guard lock(mutex_);
    size_ = next_;
  }
  /// All that will ever be taken, once closed.
  [[nodiscard]] std::uint64_t size() const {
    const std::lock_guard lock(mutex_);
    return size_;
  }
  [[nodiscard]] bool dry() const {
    const std::lock_guard lock(mutex_);
    return next_ >= size_;
  }

private:
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0, size_;
};

/// One run of a workload: its names, what was delivered, what was measured.
class load_run {
public:
  /// Makes the project; for `projects` more than one they are called NAME-0 and so on.
  static result<std::unique_ptr<load_run>> make(load_target& target, const load_options& options,
                                                std::uint32_t projects = 1);

  /// Runs `work` in `n` threads, each with a client; ends when all have ended. The first error
  /// stops the others at their next look at `stopped`.
  result<void> each(unsigned n, const std::function<result<void>(load_client&)>& work);
  /// The same for work that waits for nothing but answers: on few threads if the target allows it.
  result<void> interleaved(unsigned n, const std::function<result<void>(load_client&)>& work);
  /// Starts to measure: the clock, and the tasks that count. `nothing` ends it.
  void measure(counted what);
  [[nodiscard]] bool stopped() const;
  void stop_with(const error& e);

  /// Fills in what the run counted; the workload adds its own. `tasks`: how many of the first
  /// numbers must have been delivered; none = the workload knows itself.
  load_figures figures(std::optional<std::uint64_t> tasks);

  load_target& target;
  const load_options& options;
  task_names names;
  delivery_check check;
  std::atomic<std::uint64_t> submitted{0}, leased{0}, settled{0};
  std::atomic<std::uint64_t> created{0}, restarted{0}, ignored{0};
  load_clock::time_point begin{};
  /// When the last report so far was answered.
  [[nodiscard]] load_clock::time_point settled_at() const { return settled_at_; }

private:
  friend class load_client;
  load_run(load_target& t, const load_options& o) : target(t), options(o) {}
  result<void> each(unsigned n, unsigned threads,
                    const std::function<result<void>(load_client&)>& work);

  std::atomic<counted> what_{counted::nothing};
  std::atomic<std::uint64_t> counted_{0};
  std::atomic<load_clock::time_point> end_{}, settled_at_{};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<error> failure_;
  std::array<histogram, static_cast<std::size_t>(span_kind::count)> spans_;
  std::vector<std::uint64_t> timeline_;
};

/// Set by SIGINT and SIGTERM while a guard lives: runs end early, children and temporary
/// directories go.
class interrupt_guard {
public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  [[nodiscard]] static bool interrupted();
};

} // namespace lycosa::cli::bench
