#include "storage/memory_shard.hpp"

/// Reads of the queues that are kept in order. Here all are; only who has asked for it is answered.
namespace lycosa::storage {

bool memory_shard::in_order(project_id project) const {
  const auto row = t_.orders.find(project);
  return row != t_.orders.end() && row->second->state == order_row::phase::complete;
}

result<order_state> memory_shard::order_of(project_id project) {
  const std::shared_lock lock(mutex_);
  if (in_order(project)) return order_state::complete;
  return t_.orders.contains(project) ? order_state::partly : order_state::none;
}

result<std::vector<active_entry>> memory_shard::queue_heads(project_id project,
                                                            std::optional<std::int32_t> below,
                                                            std::size_t limit) {
  const std::shared_lock lock(mutex_);
  if (!in_order(project)) return not_in_order(project);
  std::vector<active_entry> out;
  while (out.size() < limit) {
    const auto from = queue_key_below(project, below);
    const auto head = from ? queue_.lower_bound(*from) : queue_.end();
    if (head == queue_.end()) break;
    const auto entry = queue_entry_of(head->data(), shard_);
    if (entry.project != project) break;
    out.push_back(entry);
    below = entry.position.priority;
  }
  return out;
}

result<std::vector<active_entry>>
memory_shard::scan_queue(project_id project, const active_entry& from, std::size_t limit) {
  const std::shared_lock lock(mutex_);
  if (!in_order(project)) return not_in_order(project);
  std::vector<active_entry> out;
  auto it = queue_.lower_bound(queue_key(project, from.position, from.key.seq()));
  for (; it != queue_.end() && out.size() < limit; ++it) {
    const auto entry = queue_entry_of(it->data(), shard_);
    if (entry.project != project || entry.position.priority != from.position.priority) break;
    out.push_back(entry);
  }
  return out;
}

} // namespace lycosa::storage
