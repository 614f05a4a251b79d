#include "actors/log.hpp"
#include "actors/project_state.hpp"

/// A queue that is longer than its window: what of it is read when, and that the shards keep it in
/// the order in which it is read. The decisions are core/queue_window's.
namespace lycosa::actors {

namespace {

constexpr std::size_t order_slice = 2000; ///< tasks a commit puts in order, where others wait

} // namespace

std::uint64_t project_state::queued() const {
  if (window_.whole()) return queue_.size();
  std::int64_t stored = 0;
  for (const auto& c : counts_)
    if (c) stored += c->active;
  return std::max<std::uint64_t>(queue_.size(),
                                 static_cast<std::uint64_t>(std::max<std::int64_t>(0, stored)));
}

/// A task that is new to the queue. What was read meanwhile may have brought it already, and it may
/// even be handed out by now.
void project_state::queue_up(task_key key, const queue_position& at, wall_time now) {
  if (window_.holds({key, at})) queue_.put_if_new(key, at, now);
}

void project_state::move_in_queue(task_key key, const queue_position& at, wall_time now) {
  if (queue_.contains(key))
    queue_.reposition(key, at, now);
  else if (window_.holds({key, at}))
    queue_.put_if_new(key, at, now, of_before(at));
}

void project_state::queue_again(task_key key, const queue_position& at, wall_time now) {
  if (queue_.requeue(key, at, now)) return;
  if (!of_before(at)) return queue_up(key, at, now);
  // A report for a task that was restarted meanwhile leaves it its turn. It has been judged: by its
  // arrival another report would be good too.
  queue_.put_if_new(key, at, now);
  queue_.pin(key);
}

void project_state::look_at_window(instant at) {
  if (!at_work()) return;
  if (window_.too_many(queue_.waiting())) {
    const auto stored = [&](task_key key) {
      return orders_[key.shard()].is == order_state::complete;
    };
    for (const auto& e : queue_.keep_first(window_.limit(), at.wall, stored))
      window_.leave(e, at.wall);
    window_.dropped(queue_.waiting());
  }
  if (read_again_ && *read_again_ > at.mono) return;
  read_again_.reset();
  auto read = window_.begin_read(queue_, at.wall);
  if (!read) return;
  auto op = std::make_shared<window_op>();
  op->project = facts_->id;
  op->read = *read;
  const auto shard = read->from.key.shard();
  self_->send(env_.readers[shard], std::move(op), project_actor{self_});
}

void project_state::read_on(window_op& op) {
  if (phase_ != phase::running) return;
  const auto at = now();
  if (op.failure) {
    log_of("storage")->error("project {}: its next tasks cannot be read: {}", facts_->name,
                             op.failure->text());
    window_.fail_read();
    read_again_ = at.mono + retry_after_failure;
  } else {
    window_.end_read(op.entries, at.wall);
    for (const auto& e : op.entries)
      if (!touched_.contains(e.key))
        queue_.put_if_new(e.key, e.position, at.wall, of_before(e.position));
  }
  touched_.clear();
  settle_down();
}

/// Brings the shards to keep the queue in order if it has a window, else no longer.
void project_state::look_at_order(instant at) {
  if (order_as_wanted_ || !at_work()) return;
  const bool wanted = facts_->queue_window > 0;
  // What is on disk only must be in memory before the order goes.
  if (!wanted && !window_.whole()) return;
  order_as_wanted_ = true;
  for (std::uint16_t s = 0; s < shards(); ++s) {
    auto& o = orders_[s];
    if (o.is == (wanted ? order_state::complete : order_state::none)) continue;
    order_as_wanted_ = false;
    if (o.out || o.not_before > at.mono) continue;
    if (!wanted) o.is = order_state::partly;
    o.out = true;
    auto op = std::make_shared<order_op>();
    op->project = facts_->id;
    op->shard = s;
    op->wanted = wanted;
    op->limit = order_slice;
    ops_out_ += 1;
    self_->send(env_.writers[s], std::move(op), project_actor{self_});
  }
}

/// Only while the looks above do something: a moment that has passed would be armed for again and
/// again.
std::optional<mono_time> project_state::next_look_at_window(instant at) const {
  if (!at_work()) return std::nullopt;
  auto next = read_again_;
  if (const auto due = window_.next_due(); due && !next && !window_.reading())
    next = look_at(*due, at);
  if (order_as_wanted_) return next;
  for (const auto& o : orders_)
    if (!o.out && o.not_before > at.mono && (!next || o.not_before < *next)) next = o.not_before;
  return next;
}

void project_state::ordered(order_op& op) {
  auto& o = orders_[op.shard];
  o.out = false;
  if (op.failure) {
    log_of("storage")->warn("project {}: its queue is not put in order for now: {}", facts_->name,
                            op.failure->text());
    o.not_before = now().mono + retry_after_failure;
  } else {
    window_.dropped(0); // more of it may be dropped now
    o.is = !op.done ? order_state::partly : op.wanted ? order_state::complete : order_state::none;
  }
  order_as_wanted_ = false;
  settle_down();
  op_back();
}

} // namespace lycosa::actors
