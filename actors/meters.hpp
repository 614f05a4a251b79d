#pragma once

#include "core/histogram.hpp"
#include "core/lifecycle.hpp"

#include <algorithm>
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
                                                        std::memory_order_release);
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
      out[i] = counts_[i].load(std::memory_order_acquire);
    return out;
  }

private:
  std::array<std::atomic<std::uint64_t>, tallies> counts_{};
};

/// One project's; outlives its actor. Small: a node may have a hundred thousand.
struct project_meter {
  tally_counts counts;
  // As they were when the project last did anything. A queue in memory has less than 2^32 entries.
  std::atomic<std::uint64_t> on_disk{0};
  std::atomic<std::uint32_t> ready{0}, delayed{0}, processing{0};
  /// Last lease number given out: a restarted actor goes on from there, so that no two leases of an
  /// epoch are alike.
  std::atomic<std::uint32_t> last_lease{0};
  std::atomic<std::uint32_t> oldest_lease{0}; ///< see `lease_moment`; 0 = nothing is handed out
  std::atomic<bool> paused{false};
};

static_assert(sizeof(project_meter) <= 72);

/// A moment in whole seconds, never 0. The clock begins with the machine: 136 years are enough.
[[nodiscard]] inline std::uint32_t lease_moment(mono_time at) {
  const auto s = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(s, 0, UINT32_MAX - 1)) + 1;
}

/// Adds to a project's counts and to those of all. In this order: who reads those of all first sees
/// nothing in them that the project's lack.
template <class... Args>
void tally_up(project_meter& one, tally_counts& all, const Args&... what) {
  one.counts.add(what...);
  all.add(what...);
}

struct shard_meter {
  shard_meter();
  histogram commit_seconds;              ///< with the sync
  histogram sync_seconds;                ///< of it, until the disk had everything
  histogram commit_operations;           ///< single changes in one commit
  std::atomic<std::uint64_t> refused{0}; ///< commits that could not be written, or in part
  std::atomic<std::uint64_t> waiting{0}; ///< messages in the mailbox when the last commit was over
};

/// A node's.
struct node_meters {
  node_meters();
  tally_counts counts;     ///< of all projects there ever were
  histogram lateness;      ///< seconds from when tasks were due until they were handed out; those
                           ///< handed out together count as the latest of them
  histogram job_lateness;  ///< seconds from when runs were planned until they started
  histogram job_durations; ///< seconds that runs took
  std::vector<std::unique_ptr<shard_meter>> shards; ///< filled in before the actors start
};

} // namespace lycosa::actors
