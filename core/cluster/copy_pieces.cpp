#include "core/cluster/copy_pieces.hpp"

#include <algorithm>

namespace lycosa::cluster {

bool copy_pieces::add(node_id to, copy_message m, mono_time now) {
  auto& c = copies_[m.id];
  while (!c.left.empty() && now - c.left.front().second >= again_after_)
    c.left.pop_front();
  const auto number = m.chunk;
  const bool just_left =
      std::any_of(c.left.begin(), c.left.end(), [&](const auto& l) { return l.first == number; });
  return !just_left && c.waiting.try_emplace(number, piece{to, std::move(m)}).second;
}

std::optional<copy_pieces::piece> copy_pieces::take(mono_time now) {
  if (now < free_at_) return std::nullopt;
  for (auto& [id, c] : copies_) {
    const auto first = c.waiting.begin();
    if (first == c.waiting.end()) continue;
    auto out = std::move(first->second);
    c.left.emplace_back(first->first, now);
    c.waiting.erase(first);
    return out;
  }
  return std::nullopt;
}

void copy_pieces::sent(std::uint64_t bytes, mono_time now) {
  if (rate_ == 0) return;
  const auto took = static_cast<double>(bytes) * 1e6 / static_cast<double>(rate_);
  free_at_ = std::max(free_at_, now) + usec{static_cast<usec::rep>(took)};
}

std::optional<mono_time> copy_pieces::next() const {
  const bool some = std::any_of(copies_.begin(), copies_.end(),
                                [](const auto& c) { return !c.second.waiting.empty(); });
  return some ? std::optional{free_at_} : std::nullopt;
}

} // namespace lycosa::cluster
