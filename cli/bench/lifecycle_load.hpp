#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>

namespace lycosa::cli::bench {

struct lifecycle_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8040;
  std::string project = "bench";
  std::uint64_t tasks = 200'000;
  std::uint32_t batch = 1000; ///< tasks in one request
  unsigned connections = 4;   ///< each on a thread of its own, closed loop
  std::uint32_t body = 200;   ///< bytes of opaque JSON a task carries, about
  bool submit_only = false;
};

struct lifecycle_figures {
  std::uint64_t submitted = 0;
  std::uint64_t leased = 0;
  std::uint64_t settled = 0;
  std::uint64_t delivered_twice = 0; ///< tasks leased more than once: must be 0
  std::uint64_t lost = 0;            ///< tasks never leased: must be 0
  double seconds = 0;
};

/// Closed loop: every connection submits a batch, leases a batch, reports what it leased, until
/// all tasks are settled. Counts every delivery: a figure whose deliveries are not exact is void.
result<lifecycle_figures> run_lifecycle(const lifecycle_options& options);

} // namespace lycosa::cli::bench
