#pragma once

#include "actors/node.hpp"
#include "gateway/process_stats.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace lycosa::gateway {

struct shared_state;

/// Everything a scrape tells.
struct metrics_input {
  actors::metrics_view node;
  std::optional<actors::health_view> health; ///< none = the node could not say
  std::optional<actors::job_statistics> jobs;
  process_stats process;
  /// How long the parts took to say that; none = they did not.
  std::optional<std::chrono::duration<double>> shards_took, jobs_took;
  std::string version;
  const shared_state* front = nullptr; ///< of the HTTP server; null = it has ended
};

/// In Prometheus' text format 0.0.4. Every family is there in each answer, whether it has series or
/// not; docs/metrics.md lists them.
[[nodiscard]] std::string metrics_text(const metrics_input& in);

} // namespace lycosa::gateway
