#include "actors/project.hpp"

#include "actors/log.hpp"
#include "actors/project_state.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

constexpr std::size_t scan_page = 16384; ///< queue entries read at once at start
/// Tasks erased in one commit of a shard, where others wait for it. Where more settle than that, a
/// sweep takes larger slices, so that the excess does not grow without end.
constexpr std::size_t erase_slice_size = 500, largest_erase_slice = 4000;
constexpr std::size_t due_slice = 16384; ///< delayed tasks moved before other messages get a turn

} // namespace

project_state::project_state(project_actor::pointer self, project_environment environment,
                             facts_ptr facts, supervisor_actor parent)
    : self_(self), env_(std::move(environment)), facts_(std::move(facts)),
      parent_(std::move(parent)), queue_(env_.meter->last_lease.load(std::memory_order_relaxed)),
      orders_(env_.writers.size()), bucket_(facts_->rate, facts_->burst, env_.time->now().mono),
      counts_(env_.writers.size()), retention_(env_.writers.size()), pause_(env_.pause),
      info_(env_.get_info_wait), ticks_(env_.tick_catch_up), drain_(env_.finish_delay) {
  window_.set_limit(facts_->queue_window);
  if (!env_.full_bucket) {
    const auto now = env_.time->now().mono;
    bucket_.take(bucket_.available(now), now);
  }
  first_arrival_ = next_arrival(env_.time->now().wall);
  note_facts(env_.time->now());
}

project_state::~project_state() {
  if (loading()) env_.loading->queues.fetch_sub(1);
}

// -- start ----------------------------------------------------------------------------------------

void project_state::load() {
  loading_shards_ = shards();
  env_.loading->queues.fetch_add(1);
  for (std::uint16_t s = 0; s < shards(); ++s) {
    auto op = std::make_shared<scan_op>();
    op->project = facts_->id;
    op->shard = s;
    op->limit = scan_page;
    op->heads_will_do = facts_->queue_window > 0;
    if (const auto hash = hash_task(facts_->name, on_finished_id); shard_of(hash, shards()) == s)
      op->watch = hash;
    self_->send(env_.readers[s], std::move(op), project_actor{self_});
  }
}

void project_state::loaded(scan_op_ptr op) {
  if (op->failure) {
    log_of("scheduler")
        ->error("project {}: its queue cannot be read: {}", facts_->name, op->failure->text());
    self_->quit(caf::sec::runtime_error); // the supervisor tries again
    return;
  }
  if (!op->after && !op->below) {
    if (!counts_[op->shard]) counts_[op->shard] = op->counts;
    orders_[op->shard].is = op->order;
    remember_finished(*op);
    const auto active = static_cast<std::uint64_t>(std::max<std::int64_t>(0, op->counts.active));
    env_.loading->tasks.fetch_add(active);
    if (op->heads) env_.loading->loaded.fetch_add(active);
  }
  if (!op->heads) env_.loading->loaded.fetch_add(op->entries.size());
  const auto at = now();
  if (phase_ == phase::running) {
    for (const auto& e : op->entries)
      if (op->heads)
        window_.leave(e, at.wall);
      else if (!touched_.contains(e.key))
        queue_.put_if_new(e.key, e.position, at.wall, true);
  }
  if (op->entries.size() == op->limit && phase_ == phase::running) {
    if (op->heads)
      op->below = op->entries.back().position.priority;
    else
      op->after = op->entries.back().key;
    op->entries.clear();
    const auto shard = op->shard;
    self_->send(env_.readers[shard], std::move(op), project_actor{self_});
  } else if (--loading_shards_ == 0) {
    env_.loading->queues.fetch_sub(1);
    touched_.clear();
    order_as_wanted_ = false;
    for (auto& held : std::exchange(held_reports_, {}))
      report(std::move(held));
  }
  settle_down();
}

// -- what may run ---------------------------------------------------------------------------------

std::string_view project_state::closed() const {
  if (phase_ == phase::deleting) return "the project is being deleted";
  if (draining_) return "the node is stopping";
  switch (facts_->status) {
  case project_status::todo:
    return "the project's status is TODO";
  case project_status::stop:
    return "the project's status is STOP";
  case project_status::checking:
    return "the project's status is CHECKING";
  case project_status::paused:
    return "the project is paused";
  case project_status::debug:
  case project_status::running:
    break;
  }
  if (info_.blocks(now().mono)) return "waiting for the script's answer to _on_get_info";
  if (pause_.paused()) return paused_by_failures;
  if (facts_->burst < 1) return "the project's burst is below 1";
  return {};
}

bool project_state::can_give(instant at) {
  if (!outbox_.empty() && phase_ == phase::running && !draining_) return true;
  return closed().empty() && queue_.ready() > 0 && bucket_.available(at.mono) >= 1 && !blocked(at);
}

std::uint64_t project_state::next_arrival(wall_time at) {
  // The wall clock as a floor keeps numbers growing over restarts without storing a counter.
  const auto floor =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, at.time_since_epoch().count()));
  last_arrival_ = std::max(last_arrival_ + 1, floor);
  return last_arrival_;
}

void project_state::settle_down() {
  const auto at = now();
  look_at_pause(at);
  look_at_messages(at);
  look_at_retention(at);
  look_at_order(at);
  look_at_window(at);
  finish_if_drained(at);
  if (!hungry_ && can_give(at)) {
    hungry_ = true;
    self_->send(env_.dispatch, hungry_atom_v, facts_->id, project_actor{self_});
  }
  auto next = mono_time::max();
  if (const auto due = queue_.next_due()) next = std::min(next, look_at(*due, at));
  if (const auto look = next_look_at_window(at)) next = std::min(next, *look);
  if (const auto deadline = queue_.next_deadline()) next = std::min(next, *deadline);
  if (!hungry_ && queue_.ready() > 0 && closed().empty() && !blocked(at))
    if (const auto token = bucket_.next_token_at(at.mono)) next = std::min(next, *token);
  if (const auto change = pause_.next_change()) next = std::min(next, *change);
  if (const auto message = next_message(at)) next = std::min(next, *message);
  if (const auto sweep = retention_.next(); sweep && may_sweep())
    next = std::min(next, std::max(*sweep, at.mono));
  if (!erase_again_.empty()) next = std::min(next, at.mono + retry_after_failure);
  if (next != mono_time::max()) arm(next);
  show_states();
}

void project_state::show_states() {
  constexpr auto order = std::memory_order_relaxed;
  auto& m = *env_.meter;
  m.ready.store(static_cast<std::uint32_t>(queue_.ready()), order);
  m.delayed.store(static_cast<std::uint32_t>(queue_.delayed()), order);
  m.processing.store(static_cast<std::uint32_t>(queue_.processing()), order);
  // The lease that runs out first is the oldest, since all run for the same time.
  const auto deadline = queue_.next_deadline();
  m.oldest_lease.store(deadline ? lease_moment(*deadline - env_.processing_timeout) : 0, order);
  m.on_disk.store(window_.whole() ? 0 : queued() - queue_.size(), order);
  m.paused.store(facts_->status == project_status::paused || pause_.paused(), order);
}

void project_state::arm(mono_time at) {
  // A timer that fires earlier will look again; a second one for later would only pile up.
  if (!armed_.empty() && *armed_.begin() <= at) return;
  armed_.insert(at);
  self_->delayed_send(self_, std::max(at - now().mono, usec{0}), wake_atom_v);
}

void project_state::wake() {
  const auto at = now();
  armed_.erase(armed_.begin(), armed_.upper_bound(at.mono));
  queue_.expire(at);
  if (queue_.check_due(at.wall, due_slice) == due_slice) self_->send(self_, wake_atom_v);
  for (auto shard : std::exchange(erase_again_, {}))
    erase_slice(shard);
  settle_down();
}

void project_state::change(facts_ptr facts) {
  facts_ = std::move(facts);
  bucket_.set(facts_->rate, facts_->burst, now().mono);
  window_.set_limit(facts_->queue_window);
  order_as_wanted_ = false;
  note_facts(now());
  hungry_ = false; // what the dispatcher knew may be wrong in either direction
  settle_down();
}

// -- the end --------------------------------------------------------------------------------------

void project_state::drop() {
  if (phase_ == phase::deleting) return;
  phase_ = phase::deleting;
  queue_.clear();
  window_.clear();
  outbox_.clear();
  held_reports_.clear();
  erasing_shards_ = shards();
  for (std::uint16_t s = 0; s < shards(); ++s)
    erase_slice(s);
}

void project_state::erase_slice(std::uint16_t shard) {
  auto op = std::make_shared<erase_op>();
  op->project = facts_->id;
  op->shard = shard;
  op->limit = erase_slice_size;
  ops_out_ += 1;
  self_->send(env_.writers[shard], std::move(op), project_actor{self_});
}

/// Slice by slice, each behind whatever else the shard was sent meanwhile: a project of millions
/// of tasks is deleted without stalling the others. After a crash the next start goes on.
void project_state::erased(erase_op_ptr op) {
  if (op->sweep) return swept(*op);
  if (op->failure) {
    log_of("storage")->error("project {}: deletion waits: {}", facts_->name, op->failure->text());
    erase_again_.push_back(op->shard);
    settle_down();
  } else if (op->erased > 0) {
    if (!draining_) erase_slice(op->shard);
  } else if (--erasing_shards_ == 0) {
    self_->send(parent_, forget_atom_v, facts_->id);
  }
  op_back();
}

/// Settled tasks that are not kept go a slice at a time, each behind what came meanwhile.
void project_state::look_at_retention(instant at) {
  if (!may_sweep()) return;
  for (std::uint16_t s = 0; s < shards(); ++s) {
    const auto c = counts_[s].value_or(status_counts{});
    const auto settled = std::max<std::int64_t>(0, c.success + c.failed + c.bad);
    auto sweep = retention_.begin(s, static_cast<std::uint64_t>(settled), at);
    if (!sweep) continue;
    auto op = std::make_shared<erase_op>();
    op->project = facts_->id;
    op->shard = s;
    op->limit = std::clamp<std::size_t>(sweep->excess / 8, erase_slice_size, largest_erase_slice);
    op->sweep = *sweep;
    ops_out_ += 1;
    self_->send(env_.writers[s], std::move(op), project_actor{self_});
  }
}

void project_state::swept(const erase_op& op) {
  if (op.failure)
    log_of("storage")->warn("project {}: old tasks stay for now: {}", facts_->name,
                            op.failure->text());
  else
    counts_[op.shard] = op.counts;
  retention_.done(op.shard, op.failure ? std::nullopt : std::optional(op.swept), now().mono);
  settle_down();
  op_back();
}

void project_state::drain() {
  draining_ = true;
  if (counters_dirty_) save_counters();
  ops_out_ += 1;
  op_back();
}

void project_state::op_back() {
  ops_out_ -= 1;
  if (draining_ && ops_out_ == 0) self_->quit();
}

project_actor::behavior_type project_behavior(project_actor::pointer self,
                                              project_environment environment, facts_ptr facts,
                                              supervisor_actor parent) {
  auto state = std::make_shared<project_state>(self, std::move(environment), std::move(facts),
                                               std::move(parent));
  state->load();
  return {
      [state](submit_part_ptr& part) { state->submit(std::move(part)); },
      [state](done_atom, submit_op_ptr& op) { state->submitted(*op); },
      [state](report_part_ptr& part) { state->report(std::move(part)); },
      [state](done_atom, find_op_ptr& op) { state->found(*op); },
      [state](done_atom, report_op_ptr& op) { state->reported(*op); },
      [state](leases_part_ptr& part) { state->change_leases(*part); },
      [state](const grant_ptr& g) { state->hand_out(g); },
      [state](undo_atom, const undo_op_ptr& op) { state->undo(*op); },
      [state](send_op_ptr& op) { state->send(*op); },
      [state](forget_atom, const keys_ptr& keys) { state->forget(*keys); },
      [state](done_atom, scan_op_ptr& op) { state->loaded(std::move(op)); },
      [state](more_atom, submit_part_ptr& part, std::uint32_t from) {
        state->submit(std::move(part), from);
      },
      [state](more_atom, report_part_ptr& part, std::uint32_t from) {
        state->report(std::move(part), from);
      },
      [state](resume_atom) { state->resume(); },
      [state](counter_query_ptr& q) { state->count(*q); },
      [state](save_atom) { state->save_counters(); },
      [state](facts_ptr& f) { state->change(std::move(f)); },
      [state](project_query_ptr& q) { state->describe(*q); },
      [state](active_entries_ptr& e) { state->happened(*e); },
      [state](active_query_ptr& q) { state->describe_active(*q); },
      [state](task_query_ptr& q) { state->describe_task(std::move(q)); },
      [state](done_atom, task_query_ptr& q) { state->described_task(*q); },
      [state](drop_atom) { state->drop(); },
      [state](done_atom, erase_op_ptr& op) { state->erased(std::move(op)); },
      [state](done_atom, order_op_ptr& op) { state->ordered(*op); },
      [state](done_atom, window_op_ptr& op) { state->read_on(*op); },
      [state](wake_atom) { state->wake(); },
      [state](drain_atom) { state->drain(); },
  };
}

} // namespace lycosa::actors
