#include "core/cluster/group_plan.hpp"

#include <algorithm>
#include <optional>

namespace lycosa::cluster {

namespace {

bool has(const std::vector<node_id>& nodes, node_id n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

/// One step of a record to where it should be; nothing = it is there.
std::optional<shard_record> towards(const shard_record& r, std::vector<node_id> replicas,
                                    std::uint32_t least) {
  const auto unless_refused = [](proposal p) -> std::optional<shard_record> {
    if (!p) return std::nullopt;
    return std::move(*p);
  };
  if (replicas != r.replicas) return unless_refused(place(r, std::move(replicas)));
  if (least < r.min_in_sync || (least > r.min_in_sync && r.in_sync.size() >= least))
    return unless_refused(require(r, least));
  return std::nullopt;
}

class planner {
public:
  planner(const std::map<std::string, shard_record>& records, node_id self,
          const std::vector<group_candidate>& living, const std::set<node_id>& missed,
          const group_goal& goal)
      : records_(records), self_(self), missed_(missed), goal_(goal) {
    for (const auto& c : living)
      living_[c.node] = &c;
  }

  std::map<std::string, shard_record> plan() {
    const auto wanted = members();
    const auto first = leader();
    std::map<std::string, shard_record> out;
    for (const auto& [name, r] : records_) {
      if (auto next = towards(r, replicas_of(r, wanted, first), goal_.min_in_sync))
        out[name] = *next;
    }
    return out;
  }

private:
  [[nodiscard]] bool usable(node_id n) const {
    const auto found = living_.find(n);
    return found != living_.end() ? !found->second->draining : missed_.contains(n);
  }

  [[nodiscard]] std::string domain(node_id n) const {
    const auto found = living_.find(n);
    if (found == living_.end() || found->second->domain.empty())
      return "\n" + std::to_string(static_cast<std::uint64_t>(n)); // its own
    return found->second->domain;
  }

  /// Who should have replicas, in order: those that have, then the others by number, so that all
  /// plans agree.
  std::vector<node_id> members() const {
    std::vector<node_id> order, out;
    for (const auto n : records_.begin()->second.replicas)
      order.push_back(n);
    for (const auto& [n, c] : living_)
      if (!has(order, n)) order.push_back(n);
    std::erase_if(order, [&](node_id n) { return !usable(n); });
    std::set<std::string> domains;
    for (const bool sharing : {false, true})
      for (const auto n : order) {
        if (out.size() >= goal_.replicas || has(out, n)) continue;
        if (!domains.insert(domain(n)).second && !sharing) continue;
        out.push_back(n);
      }
    return out;
  }

  [[nodiscard]] bool in_sync_everywhere(node_id n) const {
    return std::all_of(records_.begin(), records_.end(),
                       [&](const auto& r) { return r.second.is_in_sync(n); });
  }

  [[nodiscard]] node_id leader() const {
    const auto fit = [&](node_id n) {
      return living_.contains(n) && usable(n) && in_sync_everywhere(n);
    };
    if (goal_.leader != node_id::none && fit(goal_.leader)) return goal_.leader;
    if (usable(self_)) return self_;
    for (const auto n : records_.begin()->second.replicas)
      if (fit(n)) return n;
    return self_;
  }

  std::vector<node_id> replicas_of(const shard_record& r, const std::vector<node_id>& wanted,
                                   node_id first) const {
    std::vector<node_id> out{first};
    for (const auto n : wanted)
      if (!has(out, n)) out.push_back(n);
    const bool settled =
        std::all_of(wanted.begin(), wanted.end(), [&](node_id n) { return r.is_in_sync(n); });
    for (const auto n : r.replicas)
      if (!has(out, n) && (!settled || n == r.leader)) out.push_back(n);
    return out;
  }

  const std::map<std::string, shard_record>& records_;
  node_id self_;
  std::map<node_id, const group_candidate*> living_;
  const std::set<node_id>& missed_;
  const group_goal& goal_;
};

} // namespace

std::map<std::string, shard_record> plan_group(const std::map<std::string, shard_record>& records,
                                               node_id self,
                                               const std::vector<group_candidate>& living,
                                               const std::set<node_id>& missed,
                                               const group_goal& goal) {
  if (records.empty()) return {};
  return planner(records, self, living, missed, goal).plan();
}

std::map<std::string, shard_record> place_group(const std::map<std::string, shard_record>& records,
                                                const std::vector<node_id>& replicas,
                                                std::uint32_t min_in_sync) {
  std::map<std::string, shard_record> out;
  for (const auto& [name, r] : records)
    if (auto next = towards(r, replicas, min_in_sync)) out[name] = *next;
  return out;
}

} // namespace lycosa::cluster
