#pragma once

#include "actors/project.hpp"
#include "core/messages/drain_watch.hpp"
#include "core/messages/info_request.hpp"
#include "core/messages/names.hpp"
#include "core/messages/tick_plan.hpp"
#include "core/queue_window.hpp"
#include "core/task_queue.hpp"
#include "core/token_bucket.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>
#include <vector>

namespace lycosa::actors {

/// What `closed` says during an automatic pause; `describe` tells more.
constexpr std::string_view paused_by_failures = "paused: its last crawls all failed";
/// Until what the disk refused is tried again.
constexpr usec retry_after_failure = std::chrono::seconds{1};

/// The state of a PROJECT and its handlers. Internal to the project actor; split over
/// project_submit.cpp, project_report.cpp, project_lease.cpp, project_messages.cpp (what goes past
/// the queue) and project.cpp (start, wake, end).
class project_state {
public:
  project_state(project_actor::pointer self, project_environment environment, facts_ptr facts,
                supervisor_actor parent);
  ~project_state();

  // project_submit.cpp
  void submit(submit_part_ptr part, std::uint32_t from = 0);
  void submitted(submit_op& op);

  // project_report.cpp
  void report(report_part_ptr part, std::uint32_t from = 0);
  void found(find_op& op);
  void reported(report_op& op);

  // project_lease.cpp
  void hand_out(const grant_ptr& g);
  void undo(undo_op& op);
  void forget(const std::vector<task_key>& keys);
  void change_leases(leases_part& part);

  // project_messages.cpp
  void send(send_op& op);

  // project_counters.cpp
  void count(counter_query& query);
  void save_counters();
  void resume();

  // project_view.cpp
  void describe(project_query& query);
  void happened(std::vector<active_entry>& entries);
  void describe_active(active_query& query);
  void describe_task(task_query_ptr query);
  void described_task(task_query& query);

  // project_window.cpp
  void ordered(order_op& op);
  void read_on(window_op& op);

  // project.cpp
  void load();
  void loaded(scan_op_ptr op);
  void change(facts_ptr facts);
  void drop();
  void erased(erase_op_ptr op);
  void wake();
  void drain();

private:
  enum class phase { running, deleting };

  [[nodiscard]] instant now() const { return env_.time->now(); }
  [[nodiscard]] std::uint64_t epoch_of(task_key key) const { return env_.epochs[key.shard()]; }
  [[nodiscard]] std::uint16_t shards() const {
    return static_cast<std::uint16_t>(env_.writers.size());
  }
  [[nodiscard]] bool loading() const { return loading_shards_ > 0; }
  [[nodiscard]] std::uint64_t queue_limit() const {
    return facts_->queue_limit > 0 ? facts_->queue_limit : env_.inqueue_limit;
  }
  /// Why nothing may be handed out, whatever the queue holds; empty = something may.
  [[nodiscard]] std::string_view closed() const;
  [[nodiscard]] bool can_give(instant at);
  /// When to look at a calendar moment: in pieces, since the clock may be set while we wait.
  [[nodiscard]] static mono_time look_at(wall_time moment, instant at) {
    constexpr usec longest = std::chrono::minutes{1};
    return at.mono + std::clamp(moment - at.wall, usec{0}, longest);
  }
  /// The queue is known, and nothing ends.
  [[nodiscard]] bool at_work() const {
    return phase_ == phase::running && !draining_ && !loading();
  }
  [[nodiscard]] std::uint64_t next_arrival(wall_time at);

  // project_window.cpp
  [[nodiscard]] bool reading() const { return loading() || window_.reading(); }
  [[nodiscard]] bool may_be_on_disk(task_key key) const {
    return !window_.whole() && orders_[key.shard()].is == order_state::complete;
  }
  /// Tasks queued, in memory and on disk.
  [[nodiscard]] std::uint64_t queued() const;
  [[nodiscard]] bool nothing_queued() const { return queue_.empty() && window_.whole(); }
  /// A better task than the first in memory is on disk.
  [[nodiscard]] bool blocked(instant at) {
    return !window_.whole() && window_.blocks(queue_.first_ready(), at.wall);
  }
  /// Whether a report may be right for all that memory knows of the task.
  [[nodiscard]] bool may_settle(lease_verdict verdict, task_key key) const {
    return verdict == lease_verdict::ok
           || (verdict == lease_verdict::unknown && may_be_on_disk(key));
  }
  /// Queued before the node started, and so not handed out since when it waits on disk only.
  [[nodiscard]] bool of_before(const queue_position& at) const {
    return at.arrival < first_arrival_;
  }
  void queue_up(task_key key, const queue_position& at, wall_time now);
  void move_in_queue(task_key key, const queue_position& at, wall_time now);
  void queue_again(task_key key, const queue_position& at, wall_time now);
  void look_at_window(instant at);
  void look_at_order(instant at);
  [[nodiscard]] std::optional<mono_time> next_look_at_window(instant at) const;

  // project_counters.cpp
  void counted(const counter_delta& delta, wall_time at);
  void counted(const lycosa::report& r, report_outcome what, instant at);
  void counters_changed();
  void look_at_pause(instant at);
  [[nodiscard]] std::string pause_text(wall_time until) const;
  [[nodiscard]] status_counts states() const;

  // project_messages.cpp
  void note_facts(instant at);
  void look_at_messages(instant at);
  std::vector<message> take_messages(std::size_t credit, instant at);
  void answered_info(report_part& part, const report_item& item);
  [[nodiscard]] leased_task hand_over(const message& m) const;
  [[nodiscard]] message make_message(message::kind what, std::int64_t second) const;
  [[nodiscard]] std::optional<mono_time> next_message(instant at) const;
  void remember_finished(const scan_op& op);
  void finish_if_drained(instant at);
  [[nodiscard]] bool drained() const;
  void queue_on_finished();
  void queued_on_finished(const submit_op& op);

  /// After any change: tells the dispatcher if something can be handed out now, and arms the timer
  /// for the moment at which something will be.
  void settle_down();
  void arm(mono_time at);
  /// For those who watch the node.
  void show_states();
  /// While a part of the queue is being read, a task that has been decided on must not be put back
  /// by an older page.
  void touch(task_key key) {
    if (reading()) touched_.insert(key);
  }
  void op_back();
  void erase_slice(std::uint16_t shard);
  [[nodiscard]] bool may_sweep() const { return facts_->retain.bounded() && at_work(); }
  void look_at_retention(instant at);
  void swept(const erase_op& op);
  /// The operation that takes items of `part` to a shard, made when the first one needs it.
  template <class Op, class Part>
  Op& op_for(std::vector<ptr<Op>>& ops, std::uint16_t shard, const ptr<Part>& part) {
    auto& op = ops[shard];
    if (!op) {
      op = std::make_shared<Op>();
      op->shard = shard;
      op->facts = facts_;
      op->part = part;
    }
    return *op;
  }
  /// Sends a list's operations to their shards' workers; each comes back as done_atom.
  template <class Op, class Part, class Worker>
  void post(Part& part, std::vector<ptr<Op>>& ops, const std::vector<Worker>& workers) {
    for (auto& op : ops) {
      if (!op) continue;
      part.open += 1;
      ops_out_ += 1;
      const auto& worker = workers[op->shard];
      self_->send(worker, std::move(op), project_actor{self_});
    }
  }
  void settle_reports(const report_part_ptr& part, std::vector<report_op_ptr>& ops);
  void add_report(std::vector<report_op_ptr>& ops, const report_part_ptr& part,
                  const report_item& said, task_key key, wall_time at);
  static void reject(report_part& part, const report_item& item, std::string why);

  project_actor::pointer self_;
  project_environment env_;
  facts_ptr facts_;
  supervisor_actor parent_;

  /// How far a shard keeps this queue in order.
  struct shard_order {
    order_state is = order_state::none;
    bool out = false; ///< a step is under way
    mono_time not_before{};
  };

  task_queue queue_;
  queue_window window_; ///< what of the queue is on disk only
  std::vector<shard_order> orders_;
  bool order_as_wanted_ = true;
  std::optional<mono_time> read_again_; ///< a read has failed
  std::uint64_t first_arrival_ = 0;     ///< what was queued before the start has a lower one
  token_bucket bucket_;
  std::vector<std::optional<status_counts>> counts_; ///< by shard, as last committed
  std::uint64_t last_arrival_ = 0;
  std::uint64_t incoming_ = 0;      ///< tasks on their way through the shards
  std::deque<active_entry> active_; ///< newest first
  bool hungry_ = false;             ///< the dispatcher knows that we can hand out
  std::set<mono_time> armed_;       ///< timers that have not fired

  retention_watch retention_;
  pause_rule pause_;
  std::uint64_t refused_ = 0;   ///< tasks that found the queue full, since the start
  bool counters_dirty_ = false; ///< and their keeper knows
  info_request info_;
  tick_plan ticks_;
  std::deque<message> outbox_;
  drain_watch drain_;
  std::optional<task_key> finished_key_; ///< of the `on_finished` task, once known
  std::optional<task_slot> finished_;    ///< how it stood when the node started
  submit_part_ptr finishing_;            ///< it is being queued
  wall_time last_settled_{};             ///< of any task, before the node started
  std::uint16_t scanned_shards_ = 0;

  phase phase_ = phase::running;
  bool draining_ = false;
  std::size_t ops_out_ = 0; ///< operations at the shards that will come back

  std::uint16_t loading_shards_ = 0;
  std::unordered_set<task_key> touched_;
  std::vector<report_part_ptr> held_reports_; ///< name tasks that may not have been read yet
  std::uint16_t erasing_shards_ = 0;
  std::vector<std::uint16_t> erase_again_; ///< slices that failed and are tried at the next wake
};

} // namespace lycosa::actors
