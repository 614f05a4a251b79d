#include "core/retention.hpp"

#include <algorithm>

namespace lycosa {

namespace {

constexpr usec retry_after = std::chrono::seconds{30};

} // namespace

usec retention_watch::period() const {
  return std::clamp<usec>(bounds_.age / 16, std::chrono::seconds{10}, std::chrono::hours{1});
}

void retention_watch::set(const retention& bounds, mono_time now) {
  if (bounds == bounds_) return;
  bounds_ = bounds;
  for (auto& s : shards_) {
    s.in_round = false;
    s.next_round = now;
    s.not_before = now;
  }
}

std::optional<settled_sweep> retention_watch::begin(std::size_t shard, std::uint64_t settled,
                                                    instant now) {
  auto& s = shards_[shard];
  if (s.out || !bounds_.bounded() || now.mono < s.not_before) return std::nullopt;
  settled_sweep sweep;
  if (bounds_.count > 0) {
    const auto share =
        std::max<std::uint64_t>(1, (bounds_.count + shards_.size() - 1) / shards_.size());
    // With slack, or each report would cost the removal of one task.
    const auto slack = std::min<std::uint64_t>(share / 64, 1000);
    if (settled > share + slack) sweep.excess = settled - share;
  }
  const bool by_age = bounds_.age > usec{0} && (s.in_round || now.mono >= s.next_round);
  if (by_age) {
    sweep.older_than = now.wall - bounds_.age;
    if (!s.in_round) {
      s.in_round = true;
      s.next_round = now.mono + period();
      s.status = task_status::success;
      s.after = 0;
    }
    sweep.status = s.status;
    sweep.after = s.after;
  }
  if (!by_age && sweep.excess == 0) return std::nullopt;
  s.out = true;
  return sweep;
}

void retention_watch::done(std::size_t shard, const std::optional<sweep_outcome>& outcome,
                           mono_time now) {
  auto& s = shards_[shard];
  s.out = false;
  if (!outcome) {
    s.not_before = now + retry_after;
    return;
  }
  // All that is left cannot be read, or is not there: the next look would find the same.
  if (outcome->erased == 0 && outcome->end) s.not_before = now + retry_after;
  if (!s.in_round) return;
  s.in_round = !outcome->end;
  s.status = outcome->status;
  s.after = outcome->after;
}

std::optional<mono_time> retention_watch::next() const {
  if (bounds_.age <= usec{0}) return std::nullopt;
  std::optional<mono_time> first;
  for (const auto& s : shards_) {
    if (s.out) continue;
    const auto at = std::max(s.not_before, s.in_round ? s.not_before : s.next_round);
    if (!first || at < *first) first = at;
  }
  return first;
}

} // namespace lycosa
