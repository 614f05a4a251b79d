#include "core/cluster/shard_log.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lycosa::cluster {

shard_log::shard_log(lsn_number begin, std::vector<epoch_start> history,
                     const std::vector<std::uint32_t>& sizes)
    : begin_(begin), sizes_(sizes.begin(), sizes.end()), history_(std::move(history)) {
  for (const auto size : sizes)
    bytes_ += size;
}

entry_id shard_log::end() const {
  const auto last = begin_ + sizes_.size() - 1;
  return {epoch_at(last), last};
}

epoch_number shard_log::epoch_at(lsn_number lsn) const {
  const auto after =
      std::upper_bound(history_.begin(), history_.end(), lsn,
                       [](lsn_number l, const epoch_start& s) { return l < s.first; });
  return after == history_.begin() ? 0 : std::prev(after)->epoch;
}

bool shard_log::continues(entry_id end) const {
  return end.lsn <= this->end().lsn && epoch_at(end.lsn) == end.epoch;
}

void shard_log::append(entry_id id, std::uint32_t bytes) {
  assert(id.lsn == end().lsn + 1 && id.epoch >= end().epoch);
  if (history_.empty() || history_.back().epoch != id.epoch) history_.push_back({id.epoch, id.lsn});
  sizes_.push_back(bytes);
  bytes_ += bytes;
}

void shard_log::trim(lsn_number through) {
  while (!sizes_.empty() && begin_ <= through) {
    bytes_ -= sizes_.front();
    sizes_.pop_front();
    ++begin_;
  }
}

void shard_log::restart(entry_id at, std::vector<epoch_start> history) {
  sizes_.clear();
  bytes_ = 0;
  begin_ = at.lsn + 1;
  history_ = std::move(history);
  std::erase_if(history_, [&](const epoch_start& s) { return s.first > at.lsn; });
}

} // namespace lycosa::cluster
