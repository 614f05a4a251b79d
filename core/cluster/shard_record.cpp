#include "core/cluster/shard_record.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::cluster {
namespace {

bool leads(const shard_record& r, const leadership& by) {
  return r.leader == by.node && r.leader_session == by.session && r.epoch == by.epoch;
}

bool holds(const std::vector<node_id>& nodes, node_id node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

} // namespace

bool shard_record::is_in_sync(node_id node) const {
  return holds(in_sync, node);
}

bool shard_record::is_replica(node_id node) const {
  return holds(replicas, node);
}

std::string_view to_string(refusal why) {
  switch (why) {
  case refusal::not_leader:
    return "not the leader of this epoch";
  case refusal::not_in_sync:
    return "not in sync";
  case refusal::not_replica:
    return "not a replica";
  case refusal::too_few:
    return "too few members in sync";
  case refusal::leader_alive:
    return "the leader's session has not ended";
  case refusal::no_change:
    return "nothing would change";
  }
  return "";
}

shard_record found_shard(node_id only, std::vector<node_id> replicas, std::uint32_t min_in_sync) {
  shard_record r;
  r.in_sync = {only};
  r.replicas = std::move(replicas);
  r.min_in_sync = min_in_sync;
  return r;
}

proposal grow(const shard_record& from, const leadership& by, node_id member) {
  if (!leads(from, by)) return tl::unexpected(refusal::not_leader);
  if (!from.is_replica(member)) return tl::unexpected(refusal::not_replica);
  if (from.is_in_sync(member)) return tl::unexpected(refusal::no_change);
  auto next = from;
  next.in_sync.insert(std::upper_bound(next.in_sync.begin(), next.in_sync.end(), member), member);
  return next;
}

proposal shrink(const shard_record& from, const leadership& by, node_id member, bool unfit) {
  if (!leads(from, by) || member == by.node) return tl::unexpected(refusal::not_leader);
  if (!from.is_in_sync(member)) return tl::unexpected(refusal::no_change);
  if (!unfit && from.in_sync.size() <= from.min_in_sync) return tl::unexpected(refusal::too_few);
  auto next = from;
  std::erase(next.in_sync, member);
  return next;
}

proposal hand_over(const shard_record& from, const leadership& by, node_id to,
                   session_id to_session) {
  if (!leads(from, by)) return tl::unexpected(refusal::not_leader);
  if (to == by.node) return tl::unexpected(refusal::no_change);
  if (!from.is_in_sync(to)) return tl::unexpected(refusal::not_in_sync);
  auto next = from;
  ++next.epoch;
  next.leader = to;
  next.leader_session = to_session;
  return next;
}

proposal resign(const shard_record& from, const leadership& by) {
  if (!leads(from, by)) return tl::unexpected(refusal::not_leader);
  auto next = from;
  next.leader = node_id::none;
  next.leader_session = session_id::none;
  return next;
}

proposal elect(const shard_record& from, node_id candidate, session_id session, bool leader_gone) {
  if (!from.is_in_sync(candidate)) return tl::unexpected(refusal::not_in_sync);
  const bool vacant = from.leader == node_id::none || from.leader == candidate;
  if (!vacant && !leader_gone) return tl::unexpected(refusal::leader_alive);
  auto next = from;
  ++next.epoch;
  next.leader = candidate;
  next.leader_session = session;
  return next;
}

proposal place(const shard_record& from, std::vector<node_id> replicas) {
  if (replicas.empty()) return tl::unexpected(refusal::too_few);
  for (std::size_t i = 0; i < replicas.size(); ++i)
    if (std::find(replicas.begin() + static_cast<std::ptrdiff_t>(i) + 1, replicas.end(),
                  replicas[i])
        != replicas.end())
      return tl::unexpected(refusal::no_change);
  if (replicas == from.replicas) return tl::unexpected(refusal::no_change);
  auto next = from;
  next.replicas = std::move(replicas);
  return next;
}

proposal require(const shard_record& from, std::uint32_t min_in_sync) {
  if (min_in_sync == from.min_in_sync) return tl::unexpected(refusal::no_change);
  if (min_in_sync == 0 || (min_in_sync > from.min_in_sync && min_in_sync > from.in_sync.size()))
    return tl::unexpected(refusal::too_few);
  auto next = from;
  next.min_in_sync = min_in_sync;
  return next;
}

} // namespace lycosa::cluster
