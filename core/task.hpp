#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace lycosa {

/// Stored with the task and shown to clients; the numbers are pyspider's. DO NOT CHANGE.
enum class task_status : std::uint8_t { active = 1, success = 2, failed = 3, bad = 4 };

/// When and how often a task is to be crawled.
struct schedule {
  std::int32_t priority = 0;            ///< higher goes first
  std::int32_t retries = 3;             ///< failures after the first that are forgiven, ≥ 0
  std::int32_t retried = 0;             ///< failures so far
  wall_time exetime{};                  ///< not before this moment; the epoch = at once
  usec age = std::chrono::seconds{-1};  ///< a crawl stays fresh this long; negative = for ever
  std::optional<std::string_view> itag; ///< a differing one restarts the task
  bool force_update = false;            ///< restart whatever its state
  bool auto_recrawl = false;            ///< crawl again every `age`
  bool cancel = false;                  ///< take it out of the queue
  std::string_view extra; ///< members unknown to Lycosa, as JSON text `"k":v,…`; kept, not read
};

/// One task as a view: every string points into memory owned by whoever made the view (a request
/// body, a batch of loaded records). `fetch`, `process` and `track` are JSON text kept byte for
/// byte; empty = absent.
struct task {
  std::string_view project; ///< name
  std::string_view taskid;
  std::string_view url;
  task_status status = task_status::active;
  schedule sched;
  std::string_view fetch;
  std::string_view process;
  std::string_view track;
  wall_time lastcrawltime{}; ///< end of the last settled crawl; the epoch = never
  wall_time updatetime{};    ///< last change of the record
  std::uint32_t generation =
      0; ///< +1 with each restart; tells an older crawl's report from this one's
};

/// Where a queued task stands: what the `active` table keeps and the project's queue orders by.
struct queue_position {
  wall_time due{};           ///< moment from which it may run
  std::int32_t priority = 0; ///< higher first among those due
  std::uint64_t arrival = 0; ///< the project's running number; breaks ties first in, first out

  friend bool operator==(const queue_position&, const queue_position&) = default;
};

/// A task and where it stands.
struct queue_entry {
  task_key key;
  queue_position position;
};

/// Whether the disk keeps a project's queue in the order in which it is handed out.
enum class order_state : std::uint8_t { none, partly, complete };

/// The order of tasks of one priority, and of those that wait for their moment.
[[nodiscard]] inline bool due_before(const queue_entry& a, const queue_entry& b) {
  return std::tie(a.position.due, a.position.arrival, a.key)
         < std::tie(b.position.due, b.position.arrival, b.key);
}

/// What the index knows of a task without touching its record.
struct task_slot {
  task_key key;
  task_status status = task_status::active;
  wall_time lastcrawltime{};
  std::uint64_t itag_hash = 0; ///< 0 = no itag
  std::uint32_t generation = 0;
};

/// How many tasks of a project are in each state; kept in the commit that changes them.
struct status_counts {
  std::int64_t active = 0;
  std::int64_t success = 0;
  std::int64_t failed = 0;
  std::int64_t bad = 0;
  wall_time last_settled{}; ///< when a task last ceased to be ACTIVE; the epoch = never
};

} // namespace lycosa
