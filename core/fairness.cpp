#include "core/fairness.hpp"

#include <algorithm>

namespace lycosa {

void fair_rotation::add(project_id project) {
  const auto [it, fresh] = places_.try_emplace(project, none);
  if (!fresh) return;
  std::uint32_t i;
  if (unused_.empty()) {
    i = static_cast<std::uint32_t>(ring_.size());
    ring_.emplace_back();
  } else {
    i = unused_.back();
    unused_.pop_back();
  }
  it->second = i;
  if (cursor_ == none) {
    ring_[i] = {project, i, i};
    cursor_ = i;
    return;
  }
  // Just behind the cursor is the end of the rotation: leaving and coming back gains no turn.
  const auto last = ring_[cursor_].prev;
  ring_[i] = {project, last, cursor_};
  ring_[last].next = i;
  ring_[cursor_].prev = i;
}

void fair_rotation::remove(project_id project) {
  const auto it = places_.find(project);
  if (it == places_.end()) return;
  const auto i = it->second;
  places_.erase(it);
  unused_.push_back(i);
  const auto [_, prev, next] = ring_[i];
  if (next == i) {
    cursor_ = none;
    round_left_ = 0;
    return;
  }
  ring_[prev].next = next;
  ring_[next].prev = prev;
  if (cursor_ == i) cursor_ = next;
  round_left_ = std::min(round_left_, places_.size());
}

std::optional<fair_rotation::turn> fair_rotation::next(std::uint64_t credit) {
  if (credit == 0 || cursor_ == none) {
    last_credit_ = credit;
    return std::nullopt;
  }
  if (round_left_ == 0 || credit > last_credit_) begin_round(credit);
  last_credit_ = credit;
  --round_left_;
  const turn t{ring_[cursor_].project,
               static_cast<std::uint32_t>(std::min<std::uint64_t>(quantum_, credit))};
  cursor_ = ring_[cursor_].next;
  return t;
}

void fair_rotation::begin_round(std::uint64_t credit) {
  round_left_ = places_.size();
  const auto share = std::max<std::uint64_t>(1, credit / round_left_);
  quantum_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(share, max_quantum_));
}

} // namespace lycosa
