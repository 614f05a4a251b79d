#pragma once

#include "core/histogram.hpp"
#include "core/lifecycle.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

/// What the actors count for those who watch the node. Changed once a batch, a commit or a run,
/// never once a task, and read by anybody without asking an actor.
namespace lycosa::actors {

/// What a project counts; the order of `metrics_view`'s counts.
enum class tally : std::uint8_t { pending, success, retry, failed, refused };
inline constexpr std::size_t tallies = 5;

/// They only grow, from the start of the node on.
class tally_counts {
public:
  void add(tally what, std::int64_t n) {
    if (n > 0)
      counts_[static_cast<std::size_t>(what)].fetch_add(static_cast<std::uint64_t>(n),
                                                        std::memory_order_relaxed);
  }
  void add(const counter_delta& d) {
    add(tally::pending, d.pending);
    add(tally::success, d.success);
    add(tally::retry, d.retry);
    add(tally::failed, d.failed);
  }
  [[nodiscard]] std::array<std::uint64_t, tallies> look() const {
    std::array<std::uint64_t, tallies> out{};
    for (std::size_t i = 0; i < tallies; ++i)
      out[i] = counts_[i].load(std::memory_order_relaxed);
    return out;
  }

private:
  std::array<std::atomic<std::uint64_t>, tallies> counts_{};
};

/// One project's. Outlives its actor.
struct project_meter {
  tally_counts counts;
  // As they were when the project last did anything.
  std::atomic<std::uint64_t> ready{0}, delayed{0}, processing{0}, on_disk{0};
  std::atomic<bool> paused{false};
};

struct shard_meter {
  shard_meter();
  histogram commit_seconds;              ///< with the sync
  histogram commit_operations;           ///< single changes in one commit
  std::atomic<std::uint64_t> refused{0}; ///< commits that could not be written, or in part
};

/// A node's.
struct node_meters {
  node_meters();
  tally_counts counts;     ///< of all projects there ever were
  histogram lateness;      ///< seconds from when tasks were due until they were handed out
  histogram job_lateness;  ///< seconds from when runs were planned until they started
  histogram job_durations; ///< seconds that runs took
  std::vector<std::unique_ptr<shard_meter>> shards; ///< filled in before the actors start
};

} // namespace lycosa::actors
