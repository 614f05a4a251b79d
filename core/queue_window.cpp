#include "core/queue_window.hpp"

#include <algorithm>

namespace lycosa {

namespace {

/// Of two ready tasks.
bool ready_before(const queue_entry& a, const queue_entry& b) {
  if (a.position.priority != b.position.priority) return a.position.priority > b.position.priority;
  return due_before(a, b);
}

} // namespace

bool queue_window::holds(const queue_entry& e) const {
  const auto head = heads_.find(stream_of(e));
  if (head == heads_.end() || due_before(e, head->second)) return true;
  // What is being read may not have it yet.
  return reading_ == head->first;
}

void queue_window::leave(const queue_entry& e, wall_time now) {
  const auto head = heads_.find(stream_of(e));
  if (head == heads_.end() || due_before(e, head->second)) set_head(e, now);
}

bool queue_window::blocks(const std::optional<queue_entry>& first, wall_time now) {
  if (heads_.empty()) return false;
  order_.check_due(now);
  const auto head = order_.first_ready();
  return head && (!first || ready_before(*head, *first));
}

std::optional<queue_window::read> queue_window::begin_read(const task_queue& memory,
                                                           wall_time now) {
  if (reading_ || heads_.empty()) return std::nullopt;
  const bool wanted =
      limit_ == 0 || memory.waiting() < limit_ - limit_ / 2 || blocks(memory.first_ready(), now);
  if (!wanted) return std::nullopt;
  order_.check_due(now);
  const auto ready = order_.first_ready();
  const auto head = ready ? ready : order_.first_delayed();
  const auto room = limit_ > memory.waiting() ? limit_ - memory.waiting() : 0;
  // No more than fits: what is too much would be dropped again.
  read_limit_ = limit_ == 0 ? most_read : std::clamp(room, std::min(least_read, limit_), most_read);
  reading_ = stream_of(*head);
  return read{heads_.at(*reading_), read_limit_ + 1};
}

void queue_window::end_read(std::vector<queue_entry>& found, wall_time now) {
  if (!reading_) return;
  const auto s = *reading_;
  reading_.reset();
  if (found.size() <= read_limit_) return end(s);
  set_head(found.back(), now);
  found.pop_back();
}

void queue_window::clear() {
  heads_.clear();
  order_.clear();
  reading_.reset();
  left_ = 0;
}

void queue_window::set_head(const queue_entry& e, wall_time now) {
  end(stream_of(e));
  heads_.emplace(stream_of(e), e);
  order_.put(key_of(stream_of(e)), e.position, now);
}

void queue_window::end(const stream& s) {
  order_.erase(key_of(s));
  heads_.erase(s);
}

} // namespace lycosa
