#include "core/task_queue.hpp"

#include "core/saturating.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lycosa {
namespace {

constexpr auto none = slot_table::none;

wall_time wall(std::int64_t us) {
  return wall_time{usec{us}};
}
std::int64_t count(wall_time t) {
  return t.time_since_epoch().count();
}

queue_position position_of(const queue_slot& s) {
  return {wall(s.due), s.priority, s.arrival};
}

queue_entry entry_of(const queue_slot& s) {
  return {task_key::from_value(s.key), position_of(s)};
}

bool due_before(const queue_slot& a, const queue_slot& b) {
  if (a.due != b.due) return a.due < b.due;
  return a.arrival != b.arrival ? a.arrival < b.arrival : a.key < b.key;
}

void set_state(queue_slot& s, queue_state state) {
  s.state_bits = static_cast<unsigned>(state) & 3U;
}

/// Priority and due; the arrival of an entry is for life.
void move_to(queue_slot& s, const queue_position& at) {
  s.priority = at.priority;
  s.due = count(at.due);
}

} // namespace

// -- order ---------------------------------------------------------------------------------------

bool task_queue::before(by_order, std::uint32_t a, std::uint32_t b) const {
  const auto &x = slots_[a], &y = slots_[b];
  if (x.priority != y.priority) return x.priority > y.priority;
  return due_before(x, y);
}

bool task_queue::before(by_due, std::uint32_t a, std::uint32_t b) const {
  return due_before(slots_[a], slots_[b]);
}

bool task_queue::before(by_deadline, std::uint32_t a, std::uint32_t b) const {
  return leases_[a].deadline < leases_[b].deadline;
}

// -- in and out ----------------------------------------------------------------------------------

put_outcome task_queue::put(task_key key, const queue_position& at, wall_time now, bool recovered) {
  const auto i = slots_.find(key);
  if (i == none) return add(key, at, now, recovered);
  auto& s = slots_[i];
  if (s.state() == queue_state::processing || s.state() == queue_state::settling) {
    auto& l = leases_[s.place];
    if (l.has_after) {
      l.after.priority = std::max(l.after.priority, at.priority);
      l.after.due = std::min(l.after.due, at.due);
    } else {
      l.after = at;
      l.has_after = true;
    }
    return put_outcome::deferred;
  }
  s.priority = std::max(s.priority, at.priority);
  s.due = std::min(s.due, count(at.due));
  if (s.priority != at.priority || s.due != count(at.due)) s.unlike = true;
  resort(i, now);
  return put_outcome::moved;
}

put_outcome task_queue::reposition(task_key key, const queue_position& at, wall_time now) {
  const auto i = slots_.find(key);
  if (i == none) return add(key, at, now, false);
  auto& s = slots_[i];
  if (s.state() == queue_state::processing || s.state() == queue_state::settling) {
    auto& l = leases_[s.place];
    l.after = at;
    l.has_after = true;
    return put_outcome::deferred;
  }
  move_to(s, at);
  resort(i, now);
  return put_outcome::moved;
}

put_outcome task_queue::add(task_key key, const queue_position& at, wall_time now, bool recovered) {
  if (slots_.size() >= slot_table::max_size) return put_outcome::full;
  const auto i = slots_.insert(key);
  auto& s = slots_[i];
  move_to(s, at);
  s.arrival = at.arrival;
  s.recovered = recovered;
  enqueue(i, now);
  return put_outcome::queued;
}

bool task_queue::erase(task_key key) {
  const auto i = slots_.find(key);
  if (i == none) return false;
  unlink(i);
  slots_.erase(i);
  return true;
}

std::size_t task_queue::check_due(wall_time now, std::size_t limit) {
  std::size_t moved = 0;
  while (moved < limit && !delayed_.empty() && slots_[delayed_.top()].due <= count(now)) {
    const auto i = delayed_.top();
    delayed_.erase(*this, 0);
    make_ready(i);
    ++moved;
  }
  return moved;
}

std::optional<queue_entry> task_queue::first_ready() const {
  if (ready_.empty()) return std::nullopt;
  return entry_of(slots_[ready_.top()]);
}

std::optional<queue_entry> task_queue::first_delayed() const {
  if (delayed_.empty()) return std::nullopt;
  return entry_of(slots_[delayed_.top()]);
}

std::optional<wall_time> task_queue::next_due() const {
  if (delayed_.empty()) return std::nullopt;
  return wall(slots_[delayed_.top()].due);
}

// -- leases --------------------------------------------------------------------------------------

std::optional<queue_lease> task_queue::lease(instant now, usec timeout,
                                             std::shared_ptr<const std::string> consumer) {
  if (ready_.empty()) return std::nullopt;
  const auto i = ready_.top();
  ready_.erase(*this, 0);
  if (++last_lease_ == 0) last_lease_ = 1; // 0 says "never"
  auto& s = slots_[i];
  s.lease = last_lease_;
  s.recovered = false;
  set_state(s, queue_state::processing);
  const auto e = take_lease_entry(i);
  auto& l = leases_[e];
  l.deadline = saturating_add(now.mono, timeout);
  l.wall_deadline = saturating_add(now.wall, timeout);
  l.consumer = std::move(consumer);
  l.handed_out = true;
  s.place = e;
  deadlines_.push(*this, e);
  return queue_lease{task_key::from_value(s.key), s.lease, wall(s.due)};
}

lease_verdict task_queue::judge(task_key key, const std::optional<lease_token>& token,
                                std::uint64_t epoch) const {
  const auto i = slots_.find(key);
  if (i == none) return lease_verdict::unknown;
  const auto& s = slots_[i];
  if (s.state() == queue_state::settling) return lease_verdict::stale;
  if (token && (token->key != key || token->epoch > epoch)) return lease_verdict::stale;
  // Whoever held it before the queue was loaded is the last who did.
  if (s.recovered) return lease_verdict::ok;
  if (!token) return s.lease != 0 ? lease_verdict::ok : lease_verdict::not_leased;
  const auto last = token->epoch == epoch && s.lease != 0 && token->number == s.lease;
  return last ? lease_verdict::ok : lease_verdict::stale;
}

bool task_queue::holds(const lease_token& token, std::uint64_t epoch) const {
  const auto i = slots_.find(token.key);
  if (i == none || token.epoch != epoch) return false;
  const auto& s = slots_[i];
  return s.state() == queue_state::processing && s.lease == token.number;
}

bool task_queue::extend(task_key key, instant now, usec timeout) {
  const auto i = slots_.find(key);
  if (i == none || slots_[i].state() != queue_state::processing) return false;
  auto& l = leases_[slots_[i].place];
  l.deadline = saturating_add(now.mono, timeout);
  l.wall_deadline = saturating_add(now.wall, timeout);
  deadlines_.fix(*this, l.place);
  return true;
}

bool task_queue::release(task_key key, usec delay, wall_time now) {
  const auto i = slots_.find(key);
  if (i == none || slots_[i].state() != queue_state::processing) return false;
  auto& s = slots_[i];
  end_lease(i);
  s.lease = 0;
  s.unlike = true;
  if (delay > usec::zero()) s.due = std::max(s.due, count(saturating_add(now, delay)));
  enqueue(i, now);
  return true;
}

std::vector<task_key> task_queue::expire(instant now, std::size_t limit) {
  std::vector<task_key> out;
  while (out.size() < limit && !deadlines_.empty()
         && leases_[deadlines_.top()].deadline <= now.mono) {
    const auto& l = leases_[deadlines_.top()];
    const auto i = l.slot;
    const bool restarted = l.has_after;
    end_lease(i);
    // Without a restart it was due when it was handed out, whatever the wall clock says by now.
    if (restarted)
      enqueue(i, now.wall);
    else
      make_ready(i);
    out.push_back(task_key::from_value(slots_[i].key));
  }
  return out;
}

std::optional<mono_time> task_queue::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return leases_[deadlines_.top()].deadline;
}

// -- a report's way ------------------------------------------------------------------------------

bool task_queue::begin_settle(task_key key) {
  const auto i = slots_.find(key);
  if (i == none) return false;
  auto& s = slots_[i];
  switch (s.state()) {
  case queue_state::settling:
    return false;
  case queue_state::processing:
    deadlines_.erase(*this, leases_[s.place].place);
    break;
  case queue_state::ready:
  case queue_state::delayed: {
    unlink(i);
    s.place = take_lease_entry(i);
    break;
  }
  }
  set_state(s, queue_state::settling);
  return true;
}

bool task_queue::abort_settle(task_key key, wall_time now) {
  const auto i = slots_.find(key);
  if (i == none || slots_[i].state() != queue_state::settling) return false;
  auto& s = slots_[i];
  const auto e = s.place;
  if (leases_[e].handed_out) {
    set_state(s, queue_state::processing);
    deadlines_.push(*this, e);
    return true;
  }
  if (leases_[e].has_after) move_to(s, leases_[e].after);
  give_lease_entry(e);
  enqueue(i, now);
  return true;
}

bool task_queue::requeue(task_key key, const queue_position& at, wall_time now) {
  const auto i = slots_.find(key);
  if (i == none) return false;
  unlink(i);
  auto& s = slots_[i];
  move_to(s, at);
  s.unlike = s.arrival == at.arrival; // by its arrival alone it might pass for not handed out
  s.arrival = at.arrival;             // a new turn: behind those who came meanwhile
  s.lease = 0;
  s.recovered = false;
  enqueue(i, now);
  return true;
}

bool task_queue::pin(task_key key) {
  const auto i = slots_.find(key);
  if (i == none) return false;
  slots_[i].unlike = true;
  return true;
}

// -- a queue that is longer than memory should hold ----------------------------------------------

std::vector<queue_entry> task_queue::keep_first(std::size_t most, wall_time now,
                                                const std::function<bool(task_key)>& stored) {
  std::vector<queue_entry> out;
  if (waiting() <= most) return out;
  check_due(now);
  std::vector<std::uint32_t> order;
  order.reserve(waiting());
  for (std::size_t i = 0; i < ready_.size(); ++i)
    order.push_back(ready_.at(i));
  for (std::size_t i = 0; i < delayed_.size(); ++i)
    order.push_back(delayed_.at(i));
  // The heaps hold the ready before the delayed: only the one that the cut goes through is sorted.
  const auto ready_end = order.begin() + static_cast<std::ptrdiff_t>(ready_.size());
  const auto cut = order.begin() + static_cast<std::ptrdiff_t>(most);
  if (cut < ready_end)
    std::nth_element(order.begin(), cut, ready_end,
                     [this](auto a, auto b) { return before(by_order{}, a, b); });
  else
    std::nth_element(ready_end, cut, order.end(),
                     [this](auto a, auto b) { return before(by_due{}, a, b); });
  for (auto i = cut; i != order.end(); ++i) {
    const auto& s = slots_[*i];
    const auto key = task_key::from_value(s.key);
    if (s.lease != 0 || s.unlike != 0 || !stored(key)) continue;
    out.push_back(entry_of(s));
    unlink(*i);
    slots_.erase(*i);
  }
  return out;
}

// -- reading -------------------------------------------------------------------------------------

std::optional<queue_view> task_queue::state_of(task_key key) const {
  const auto i = slots_.find(key);
  if (i == none) return std::nullopt;
  const auto& s = slots_[i];
  queue_view v;
  v.state = s.state();
  v.position = position_of(s);
  v.lease = s.lease;
  v.recovered = s.recovered;
  if (v.state == queue_state::processing || v.state == queue_state::settling) {
    const auto& l = leases_[s.place];
    v.deadline = l.wall_deadline;
    if (l.consumer) v.consumer = *l.consumer;
    if (l.has_after) v.after = l.after;
  }
  return v;
}

void task_queue::clear() {
  slots_.clear();
  ready_.clear();
  delayed_.clear();
  deadlines_.clear();
  leases_.clear();
  free_lease_ = none;
  lease_count_ = 0;
}

// -- parts ---------------------------------------------------------------------------------------

/// Puts a slot that is in no heap where its due says.
void task_queue::enqueue(std::uint32_t i, wall_time now) {
  if (slots_[i].due <= count(now)) return make_ready(i);
  set_state(slots_[i], queue_state::delayed);
  delayed_.push(*this, i);
}

void task_queue::make_ready(std::uint32_t i) {
  set_state(slots_[i], queue_state::ready);
  ready_.push(*this, i);
}

/// Takes a slot out of its heap or its lease.
void task_queue::unlink(std::uint32_t i) {
  const auto& s = slots_[i];
  switch (s.state()) {
  case queue_state::ready:
    ready_.erase(*this, s.place);
    break;
  case queue_state::delayed:
    delayed_.erase(*this, s.place);
    break;
  case queue_state::processing:
    deadlines_.erase(*this, leases_[s.place].place);
    [[fallthrough]];
  case queue_state::settling:
    give_lease_entry(s.place);
    break;
  }
}

/// Ends a running lease: the slot is in no heap, at the position a restart left for it.
void task_queue::end_lease(std::uint32_t i) {
  auto& s = slots_[i];
  const auto& l = leases_[s.place];
  if (l.has_after) move_to(s, l.after);
  unlink(i);
}

/// After a change of position of a waiting slot.
void task_queue::resort(std::uint32_t i, wall_time now) {
  const auto& s = slots_[i];
  const auto target = s.due <= count(now) ? queue_state::ready : queue_state::delayed;
  if (s.state() != target) {
    unlink(i);
    enqueue(i, now);
  } else if (target == queue_state::ready) {
    ready_.fix(*this, s.place);
  } else {
    delayed_.fix(*this, s.place);
  }
}

std::uint32_t task_queue::take_lease_entry(std::uint32_t slot) {
  std::uint32_t e;
  if (free_lease_ != none) {
    e = free_lease_;
    free_lease_ = leases_[e].slot;
    leases_[e] = lease_entry{};
  } else {
    e = static_cast<std::uint32_t>(leases_.size());
    leases_.push_back(lease_entry{});
  }
  leases_[e].slot = slot;
  ++lease_count_;
  return e;
}

void task_queue::give_lease_entry(std::uint32_t e) {
  if (--lease_count_ == 0) { // nothing is handed out: the side table shrinks to its spare chunk
    while (!leases_.empty())
      leases_.pop_back();
    free_lease_ = none;
    return;
  }
  leases_[e] = lease_entry{};
  leases_[e].slot = free_lease_;
  free_lease_ = e;
}

} // namespace lycosa
