#pragma once

#include "actors/event_hub.hpp"
#include "actors/jobs.hpp"
#include "core/counters.hpp"
#include "core/histogram.hpp"
#include "core/lease.hpp"
#include "core/lifecycle.hpp"
#include "core/pause_rule.hpp"
#include "core/project.hpp"
#include "core/result.hpp"
#include "core/task.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::storage {
class replica_set;
}

/// The scheduler as its users inside the process see it: requests in, one answer each through a
/// callback. Knows nothing of HTTP, shows nothing of CAF. The gateway, the embedded library and
/// the in-process bench all stand on this header.
namespace lycosa::actors {

/// Called exactly once, on a thread of the node; must not block. May be called before the
/// requesting call returns.
template <class T>
using reply = std::function<void(result<T>)>;

/// Keeps the memory that a request's or an answer's views point into.
using memory = std::shared_ptr<const void>;

/// Why one item of a list was not taken.
struct item_error {
  std::uint32_t index = 0; ///< position in the caller's list
  std::string taskid;
  std::string why; ///< names the field where one is to blame
};

// -- projects ----------------------------------------------------------------------------------

/// What a project counted: averages of times, sums of events.
struct counters_view {
  time_values five_minutes_time;
  event_values five_minutes, hour, day, all;
  handled_values handled;
};

struct project_view {
  project_record record;
  bool paused = false; ///< by the operator or by the failure rule
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t processing = 0;
  std::uint64_t on_disk = 0; ///< waiting past the project's queue_window, ready or delayed
  status_counts counts;
  counters_view counters;
  std::uint64_t refused = 0;        ///< tasks that found the queue full, since the node started
  std::optional<wall_time> next_at; ///< when the next queued task may run, if time decides that
  std::string gate; ///< why nothing is handed out right now; empty = something can be
  [[nodiscard]] std::uint64_t size() const { return ready + delayed + processing + on_disk; }
};

struct put_project_answer {
  project_view project;
  bool created = false;
};

// -- submit ------------------------------------------------------------------------------------

struct submit_item {
  task record; ///< `project` names the project; `schedule` may carry the commands
  std::uint32_t index = 0;
};

struct submit_request {
  /// The records are taken over whole (judge_import), whatever their project's status.
  bool import = false;
  memory buffer;
  std::vector<submit_item> items;
};

struct submit_answer {
  std::uint64_t created = 0;
  std::uint64_t restarted = 0;
  std::uint64_t ignored = 0;
  std::map<std::string_view, std::uint64_t> ignored_reasons; ///< static text → how many
  std::vector<std::pair<std::uint32_t, std::string_view>> ignored_items; ///< index → static text
  std::uint64_t cancelled = 0;
  std::vector<item_error> rejected;
  /// Set when a part could not be written (`no_space`, `unavailable`): the counts tell what was.
  /// Sending the whole list again is safe, what was taken is then ignored.
  std::optional<error> failure;
};

// -- lease, report -----------------------------------------------------------------------------

struct lease_request {
  std::uint32_t max = 1;
  usec wait{};                       ///< for the first task; 0 = answer at once
  std::vector<std::string> projects; ///< empty = all
  std::string consumer;              ///< name to show to operators; may be empty
};

struct leased_task {
  task record;       ///< with the project's name
  std::string lease; ///< text form; empty for messages that expect no report
  std::string_view group;
  std::string_view project_md5sum;
  wall_time project_updatetime{};
};

struct lease_answer {
  std::vector<leased_task> tasks;
  std::vector<memory> buffers;
};

/// A lease request under way; may be dropped or cancelled from any thread.
class lease_wait {
public:
  virtual ~lease_wait() = default;
  /// The client has gone: the answer is not wanted. Tasks already chosen go back to the queue.
  /// Harmless after the answer.
  virtual void cancel() = 0;
};

struct report_item {
  std::string_view project;
  report pack;
  std::optional<lease_token> lease;
  std::uint32_t index = 0;
};

struct report_request {
  memory buffer;
  std::vector<report_item> items;
};

struct report_answer {
  std::uint64_t done = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  std::vector<item_error> rejected; ///< stale leases: why = "stale lease"
  std::optional<error> failure;     ///< as in submit_answer
};

struct leases_request {
  std::vector<std::optional<lease_token>> leases; ///< none = the text was no lease: rejected
  usec amount{}; ///< extend: from now on; release: before it may run again
};

struct leases_answer {
  std::uint64_t changed = 0;
  std::vector<item_error> rejected;
};

// -- reads -------------------------------------------------------------------------------------

struct task_view {
  task record;
  std::string state; ///< "ready", "delayed", "processing", or empty when it is not queued
  std::optional<wall_time> due; ///< delayed: when; processing: end of the lease
  std::string consumer;         ///< processing: who holds it
};

struct task_page {
  std::vector<task> tasks;
  std::vector<memory> buffers;
  std::string next; ///< empty = end
};

struct task_answer {
  task_view view;
  std::vector<memory> buffers;
};

/// What happened to a task lately: it was handed out, or its crawl was reported.
struct active_entry {
  wall_time at{};
  std::string project;
  std::string taskid;
  std::string url;
  task_status status = task_status::active;
  wall_time lastcrawltime{};
  wall_time updatetime{};
  std::string track; ///< JSON text; empty = never crawled
};

struct stored_result {
  std::string taskid;
  std::string json;
  wall_time updatetime{};
};

struct result_page {
  std::vector<stored_result> results;
  std::string next;
};

/// Totals are the states of tasks, which the store keeps: they cannot drift.
[[nodiscard]] inline event_values totals(const status_counts& c) {
  return {static_cast<double>(c.active), static_cast<double>(c.success), 0,
          static_cast<double>(c.failed + c.bad)};
}

/// pyspider's counter windows; `five_minutes_time` holds seconds that crawls took, the others
/// events, and `all` the states of the project's tasks.
enum class counter_set : std::uint8_t { five_minutes_time, five_minutes, hour, day, all };

/// One project's counters in one window. A project that counted nothing is left out of an answer.
struct counter_view {
  std::string project;
  event_values events; ///< not of five_minutes_time; of `all`: pending, success, failed
  time_values times;   ///< of five_minutes_time
};

struct shard_view {
  std::uint64_t tasks = 0, active = 0, results = 0;
  std::uint64_t file_bytes = 0, used_bytes = 0, map_bytes = 0, last_lsn = 0;
  bool low_space = false;
};

struct health_view {
  bool ready = false; ///< every queue is loaded and every part is up
  std::string why;    ///< what is missing
  std::uint64_t queues_loading = 0;
  /// Queued tasks found on disk at the start, as far as known, and those of them in memory. Tasks
  /// are handed out from the first page on.
  std::uint64_t tasks = 0;
  std::uint64_t tasks_loaded = 0;
  std::vector<shard_view> shards;
};

/// What a project has counted since the node started, and what it holds.
struct project_metrics {
  std::string project;
  /// Tasks queued (pending), done, retried, failed; refused since the queue was full.
  std::array<std::uint64_t, 5> counts{};
  std::uint64_t ready = 0, delayed = 0, processing = 0, on_disk = 0;
  std::uint64_t paused = 0;       ///< projects that are paused
  std::uint64_t oldest_lease = 0; ///< seconds since a task was handed out that still is
};

struct commit_metrics {
  histogram_counts seconds;    ///< that a commit took, with its sync
  histogram_counts syncs;      ///< seconds of these that the disk took
  histogram_counts operations; ///< single changes in one commit
  std::uint64_t refused = 0;   ///< commits of which something could not be written
  std::uint64_t waiting = 0;   ///< messages that waited when the last commit was over
};

/// What those who watch a node ask for again and again.
struct metrics_view {
  std::vector<project_metrics> projects; ///< the last is `other`: those not named, together
  std::uint64_t projects_known = 0;
  histogram_counts lateness; ///< seconds from when tasks were due until they were handed out; those
                             ///< handed out together count as the latest of them
  histogram_counts job_lateness, job_durations;
  std::vector<commit_metrics> shards;
};

// -- the node ----------------------------------------------------------------------------------

struct node_config {
  std::string name = "lycosa";
  std::string data;           ///< directory; empty = memory only, nothing survives
  std::uint16_t shards = 0;   ///< of a new directory; an old one must match. 0 = see open_options
  std::uint64_t map_size = 0; ///< bytes a shard may grow to; 0 = 1 TiB of address space
  std::uint64_t reserve = std::uint64_t{64} << 20;     ///< bytes of disk kept back for reports
  bool sync = true;                                    ///< answer only what is on disk
  usec commit_interval = std::chrono::milliseconds{2}; ///< longest a batch gathers under load
  std::uint32_t commit_batch = 4096;                   ///< operations that close a batch
  std::uint32_t actor_threads = 0;                     ///< 0 = one for every two cores
  usec processing_timeout = std::chrono::minutes{10};  ///< how long a lease lasts
  std::uint64_t inqueue_limit = 0;                     ///< of every project; 0 = none
  usec delete_time = std::chrono::hours{24};
  usec get_info_wait = std::chrono::seconds{3}; ///< longest wait for a script's first answer
  usec tick_catch_up = std::chrono::minutes{1}; ///< ticks missed for longer are dropped
  usec finish_delay = std::chrono::seconds{1};  ///< a project is dry for so long before on_finished
  std::size_t active_tasks = 100;               ///< entries kept a project of what happened lately
  retry_policy default_retry;
  pause_settings pause;              ///< of projects whose crawls all fail
  std::uint32_t loop_limit = 1000;   ///< items of a list that a project looks at in one turn
  job_settings jobs;                 ///< an empty executor for `actor` is the node's own
  event_hub_config events;           ///< how much of what happened can be read again
  /// Of a node that leads a cluster's data: the open replicas of `data`. Null = `data` is its alone.
  std::shared_ptr<storage::replica_set> replicas = nullptr;
  /// Projects start with full buckets, as after a pause. False: with empty ones, because another
  /// node may have given the burst away a moment ago.
  bool full_buckets = true;
  std::uint32_t exception_limit = 3; ///< restarts of a failing actor before its project is failed
};

class node {
public:
  /// Opens the data directory and starts the actors. Errors say what to do.
  static result<std::unique_ptr<node>> open(const node_config& config);

  virtual ~node() = default;

  virtual void put_project(std::string name, project_patch patch,
                           reply<put_project_answer> done) = 0;
  virtual void get_project(std::string name, reply<project_view> done) = 0;
  virtual void list_projects(reply<std::vector<project_view>> done) = 0;
  /// Answers when the project takes and gives nothing any more; its data goes in slices behind.
  virtual void delete_project(std::string name, reply<std::uint64_t> done) = 0;
  /// Queues pyspider's `on_start` task.
  virtual void start_project(std::string name, reply<submit_answer> done) = 0;

  virtual void submit(submit_request request, reply<submit_answer> done) = 0;
  /// pyspider's `send_task`: a message for the project's next consumer, handed out once, ahead of
  /// the queue and whatever rate, pause or status say. Stored nowhere, carries no lease. Answers
  /// `true` when it waits for a consumer; `unavailable` when too many wait already.
  virtual void send_message(memory buffer, task message, reply<bool> done) = 0;
  virtual std::unique_ptr<lease_wait> lease(lease_request request, reply<lease_answer> done) = 0;
  virtual void report(report_request request, reply<report_answer> done) = 0;
  virtual void extend(leases_request request, reply<leases_answer> done) = 0;
  virtual void release(leases_request request, reply<leases_answer> done) = 0;

  virtual void get_task(std::string project, std::string taskid, reply<task_answer> done) = 0;
  virtual void list_tasks(std::string project, std::optional<task_status> status,
                          std::string cursor, std::size_t limit, reply<task_page> done) = 0;
  /// What happened lately, newest first (pyspider's active tasks). Empty name = all projects.
  virtual void active_tasks(std::string project, std::size_t limit,
                            reply<std::vector<active_entry>> done) = 0;
  /// Says that tasks for this node wait elsewhere (a message queue, a list being read): while the
  /// returned object lives, no project is taken for finished.
  [[nodiscard]] virtual std::shared_ptr<void> input_pending() = 0;

  /// What every project counted, in order of names.
  virtual void counters(counter_set set, counter_kind kind,
                        reply<std::vector<counter_view>> done) = 0;
  virtual void put_result(std::string project, stored_result entry, reply<bool> done) = 0;
  virtual void get_result(std::string project, std::string taskid, reply<stored_result> done) = 0;
  virtual void list_results(std::string project, std::string cursor, std::size_t limit,
                            reply<result_page> done) = 0;
  virtual void health(reply<health_view> done) = 0;
  /// Read from memory, without asking anybody: cheap however many projects there are. At most
  /// `projects` of them are named.
  virtual metrics_view metrics(std::size_t projects) = 0;

  /// Jobs and their schedule; lives as long as the node.
  virtual job_service& jobs() = 0;

  /// What happens in the node, to be followed; lives as long as the node. Today the events of jobs,
  /// under the names of `jobs::event_names`.
  virtual event_hub& events() = 0;

  /// Stops taking requests, gives leases back, finishes commits; returns when all is on disk.
  /// Callbacks still open are answered with `unavailable`.
  virtual void stop() = 0;
};

} // namespace lycosa::actors
