#pragma once

#include "actors/gather.hpp"
#include "actors/node.hpp"
#include "core/lease.hpp"
#include "core/lifecycle.hpp"
#include "core/placement.hpp"
#include "core/project.hpp"
#include "core/queue_window.hpp"
#include "core/task.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What travels between actors. One message carries a whole batch; the batch is one shared object
/// that its receiver fills in and sends back, so nothing is copied on the way and nothing is sent
/// per task. An object is owned by one actor at a time: who sent it does not touch it again.
namespace lycosa::actors {

/// A project's record as it was when a message was sent; never changes once shared.
using facts_ptr = std::shared_ptr<const project_record>;

// -- client → project --------------------------------------------------------------------------

struct submit_part {
  part_promise<submit_answer> promise;
  bool import = false; ///< see submit_request
  memory buffer;
  std::vector<submit_item> items;
  // kept by the project
  submit_answer answer;
  std::uint32_t open = 0; ///< operations at the shards
};

struct report_part {
  part_promise<report_answer> promise;
  memory buffer;
  std::vector<report_item> items;
  // kept by the project
  report_answer answer;
  std::uint32_t open = 0; ///< operations at the shards
};

struct leases_part {
  struct item {
    std::uint32_t index = 0;
    lease_token token;
  };
  part_promise<leases_answer> promise;
  bool extend = false; ///< else release
  usec amount{};
  std::vector<item> items;
};

/// What goes past the queue to the next consumer: a question or a tick of the scheduler, or what a
/// client has sent. Stored nowhere, handed out once.
struct message {
  enum class kind : std::uint8_t { info, tick, sent };
  kind what = kind::sent;
  std::int64_t second = 0; ///< of a tick
  memory buffer;           ///< what `record` points into
  task record;
};

/// pyspider's `send_task`.
struct send_op {
  message what;
  promise<bool> done;
};

/// What was chosen for a consumer that never got it.
struct undo_op {
  std::vector<lease_token> tokens;
  std::vector<message> messages;
};

struct project_query {
  promise<project_view> done;
};

struct active_query {
  std::size_t limit = 0;
  promise<std::vector<active_entry>> done;
};

struct counter_query {
  counter_set set = counter_set::five_minutes;
  counter_kind kind = counter_kind::sum;
  promise<counter_view> done;
};

struct task_query {
  std::string taskid;
  promise<task_answer> done;
  // filled in by the shard reader
  task_hash hash;
  std::optional<task_slot> slot;
  task_answer answer;
  std::optional<error> failure;
};

// -- project ↔ shard writer --------------------------------------------------------------------

/// Tasks of one project for one shard. The writer fills in `outcomes` and `counts`, or `failure`.
struct submit_op {
  struct item {
    const task* record = nullptr; ///< in `part`
    std::uint32_t index = 0;      ///< in the client's list
    task_hash hash;
    std::uint64_t arrival = 0;
  };
  struct outcome {
    accept_outcome what = accept_outcome::ignored;
    task_key key;
    queue_position position;
    bool queued = true;      ///< created, restarted: it is ACTIVE
    std::string_view reason; ///< why it was ignored; static text
    std::string error;       ///< not empty: this item alone could not be taken
  };
  std::uint16_t shard = 0;
  facts_ptr facts;
  std::shared_ptr<submit_part> part;
  /// When the project took the list. The shards of one list decide with the same moment: were it
  /// each one's own, tasks due at once would be ordered by which shard was faster.
  wall_time at{};
  std::vector<item> items;

  std::vector<outcome> outcomes;
  status_counts counts; ///< of the project in this shard, after the commit
  counter_delta counted;
  std::optional<error> failure;
};

/// Reports of one project for one shard, already judged by their leases.
struct report_op {
  struct item {
    const report_item* said = nullptr; ///< in `part`
    task_key key;
    std::uint32_t generation = 0; ///< of the crawl that is reported, if a lease tells it
    bool generation_known = false;
    bool restarted = false; ///< the project knows that the task was restarted during this crawl
    /// The task waits on disk only. A report is good if it was queued before this arrival, that is
    /// before the start: then it was not handed out since.
    std::optional<std::uint64_t> queued_before;
    bool perhaps_again = false; ///< names no lease, and the task was not handed out since the start
    std::uint64_t arrival = 0;
    queue_position stood; ///< where the task stays if the report is superseded
  };
  struct outcome {
    report_outcome what = report_outcome::done;
    queue_position position;
    std::string error;   ///< not empty: this item was not taken
    bool forget = false; ///< the task is not ACTIVE (any more): the queue should drop it
    std::optional<active_entry> happened; ///< of the last items of a list only
  };
  std::uint16_t shard = 0;
  facts_ptr facts;
  std::shared_ptr<report_part> part;
  std::vector<item> items;

  std::vector<outcome> outcomes;
  status_counts counts;
  counter_delta counted;
  std::optional<error> failure;
};

struct result_op {
  project_id project{};
  task_hash hash;
  stored_result entry;
  promise<bool> done;
};

/// One bounded slice of a project's deletion, or of what is not kept of its settled tasks.
struct erase_op {
  project_id project{};
  std::uint16_t shard = 0;
  std::size_t limit = 0;
  std::optional<settled_sweep> sweep; ///< none = everything goes
  std::size_t erased = 0;
  sweep_outcome swept;
  status_counts counts; ///< of the project in this shard, after a sweep
  std::optional<error> failure;
};

/// One bounded step towards a queue that the shard keeps in order, or no longer.
struct order_op {
  project_id project{};
  std::uint16_t shard = 0;
  bool wanted = false;
  std::size_t limit = 0;
  bool done = false;
  std::optional<error> failure;
};

// -- project ↔ shard reader --------------------------------------------------------------------

/// Finds where reported tasks live when their reports came without a lease.
struct find_op {
  std::uint16_t shard = 0;
  facts_ptr facts;
  std::shared_ptr<report_part> part;
  std::vector<std::uint32_t> items; ///< positions in `part->items`
  std::vector<task_hash> hashes;
  std::vector<std::optional<task_slot>> slots;
  std::optional<error> failure;
};

/// A page of a project's queue, read when its actor starts.
struct scan_op {
  project_id project{};
  std::uint16_t shard = 0;
  std::optional<task_key> after;
  std::size_t limit = 0;
  /// Where the shard keeps the queue in order, the first task of each priority will do.
  bool heads_will_do = false;
  std::optional<std::int32_t> below; ///< heads: of lower priorities only
  // filled in by the shard reader
  bool heads = false;
  order_state order = order_state::none;
  std::vector<queue_entry> entries;
  status_counts counts; ///< with the first page
  /// A task to look up along with the first page, and how it stands.
  std::optional<task_hash> watch;
  std::optional<task_slot> watched;
  std::optional<error> failure;
};

/// A piece of a queue that is kept in order on disk.
struct window_op {
  project_id project{};
  queue_window::read read;
  std::vector<queue_entry> entries;
  std::optional<error> failure;
};

// -- dispatcher ↔ project, shard reader --------------------------------------------------------

/// Credit given to one project on behalf of one waiting consumer, and what became of it.
struct grant {
  std::uint64_t ticket = 0;
  std::string consumer;
  std::uint32_t credit = 0;
  project_id project{};
  facts_ptr facts;
  // filled in by the project
  bool more = false;       ///< it could hand out more right now
  std::uint32_t loads = 0; ///< load_ops on their way to the dispatcher
  std::vector<lease_token> tokens;
  std::vector<message> messages;
  std::vector<leased_task> handed_over; ///< the messages as their consumer gets them
  // filled in by the shard readers, each its own positions
  std::vector<leased_task> tasks;
};
using grant_ptr = std::shared_ptr<grant>;

/// The bodies of a grant's tasks that live in one shard.
struct load_op {
  grant_ptr for_grant;
  std::vector<std::uint32_t> positions; ///< in the grant
  memory buffer;                        ///< what the loaded views point into
};

/// Most entries of what happened lately that one batch adds: a project keeps few.
constexpr std::size_t active_per_batch = 100;

/// A consumer's request as the dispatcher keeps it.
struct ticket {
  std::uint64_t id = 0;
  lease_request request;
  std::vector<project_id> projects; ///< resolved from the names; empty = all
  promise<lease_answer> done;
};

// -- client → shard reader ---------------------------------------------------------------------

struct list_tasks_op {
  facts_ptr facts;
  std::optional<task_status> status;
  std::string cursor; ///< within the shard
  std::size_t limit = 0;
  promise<task_page> done;
  task_page page;
};

struct list_results_op {
  project_id project{};
  std::uint16_t shard = 0;
  std::string cursor;
  std::size_t limit = 0;
  promise<result_page> done;
  result_page page;
};

struct get_result_op {
  project_id project{};
  task_hash hash;
  promise<stored_result> done;
};

struct stats_op {
  promise<health_view> done;
  health_view view;
};

/// A project's counters as bytes, for the disk.
struct counters_op {
  project_id project{};
  std::string bytes;
};

// -- client → supervisor ↔ catalog -------------------------------------------------------------

struct change_project {
  std::string name;
  project_patch patch;
  promise<put_project_answer> done;
  // filled in on the way
  project_record record;
  bool created = false;
  std::optional<error> failure;
};

struct drop_project {
  std::string name;
  promise<std::uint64_t> done; ///< answered with the tasks it still had
  // filled in on the way
  project_record record;
  bool finally = false; ///< its data is gone: forget the record too
  std::optional<error> failure;
};

// -- client → jobs -----------------------------------------------------------------------------

class job_keeper;

/// One step on the job scheduler's state, carried to its thread.
struct job_call {
  std::function<void(job_keeper&)> run;
};

} // namespace lycosa::actors
