#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "actors/meters.hpp"
#include "core/counters.hpp"
#include "core/lifecycle.hpp"
#include "core/pause_rule.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace lycosa::actors {

class event_hub;

/// How far the queues of a starting node have come. Tasks count from the start of the node; a
/// project that is restarted counts again.
struct load_progress {
  std::atomic<std::uint64_t> queues{0}; ///< projects whose queue is being read
  std::atomic<std::uint64_t> tasks{0};  ///< queued tasks found on disk
  std::atomic<std::uint64_t> loaded{0}; ///< of these, in memory
};

/// What every project actor of a node is given.
struct project_environment {
  clock_ptr time;
  event_hub* events = nullptr; ///< outlives the actors; null = nobody listens
  std::vector<shard_writer_actor> writers;
  std::vector<shard_reader_actor> readers;
  std::vector<std::uint64_t> epochs; ///< of the shards, for lease tokens
  dispatcher_actor dispatch;
  catalog_actor catalog; ///< keeps the counters
  usec processing_timeout = std::chrono::minutes{10};
  std::size_t active_tasks = 100;  ///< entries kept of what happened lately
  std::uint64_t inqueue_limit = 0; ///< where a project sets none; 0 = none
  std::shared_ptr<load_progress> loading;
  /// Sources of tasks that hold some the node has not been given yet; not null.
  std::shared_ptr<std::atomic<std::uint64_t>> inputs =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint32_t loop_limit = 1000; ///< items of a list that are looked at in one turn
  pause_settings pause;
  usec get_info_wait = std::chrono::seconds{3}; ///< see info_request
  usec tick_catch_up = std::chrono::minutes{1}; ///< see tick_plan
  usec finish_delay = std::chrono::seconds{1};  ///< see drain_watch
  /// The bucket begins full. False: empty, since another node may just have given the burst away.
  bool full_bucket = true;
  /// What the project counted. Touched by its actor alone, and outlives it.
  std::shared_ptr<project_counters> counters;
  /// What those who watch the node see of it, and what a restarted actor goes on from. Of its own
  /// for every project.
  std::shared_ptr<project_meter> meter;
  std::shared_ptr<node_meters> meters = std::make_shared<node_meters>();
};

/// Spawn function of a PROJECT. Reads its queue from the shards first; tasks are handed out while
/// that goes on.
project_actor::behavior_type project_behavior(project_actor::pointer self,
                                              project_environment environment, facts_ptr facts,
                                              supervisor_actor parent);

} // namespace lycosa::actors
