#include "core/cluster/balancer.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace lycosa::cluster {
namespace {

bool holds(const std::vector<node_id>& nodes, node_id n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

class planner {
public:
  planner(const std::vector<node_status>& nodes, const std::vector<shard_place>& shards,
          const balance_goal& goal)
      : shards_(shards), goal_(goal) {
    for (const auto& n : nodes)
      nodes_.emplace(n.node, n);
    std::sort(shards_.begin(), shards_.end(), [](auto& a, auto& b) { return a.shard < b.shard; });
    for (const auto& s : shards_) {
      for (const auto n : s.replicas) {
        ++replicas_[n];
        if (nodes_.contains(n) && !holds(s.in_sync, n)) ++copying_;
      }
      if (!s.replicas.empty()) ++leaders_[s.replicas.front()];
    }
    for (const auto& [n, status] : nodes_)
      usable_nodes_ += usable(n) ? 1 : 0;
    for (const auto& s : shards_)
      if (s.replicas.size() > goal_.replicas) ++leaving_[heaviest(s)];
  }

  std::vector<move> plan() {
    for (auto& s : shards_)
      lead_by_living(s);
    for (auto& s : shards_)
      drop_superfluous(s);
    for (auto& s : shards_)
      add_missing(s);
    for (auto& s : shards_)
      spread_domains(s);
    even_replicas();
    while (leader_moves_ < goal_.leader_moves && even_leaders()) {
    }
    return std::move(moves_);
  }

private:
  // -- what is -------------------------------------------------------------------------------

  bool usable(node_id n) const {
    const auto found = nodes_.find(n);
    return found != nodes_.end() && !found->second.draining && found->second.weight > 0;
  }
  bool ready(const shard_place& s, node_id n) const { return usable(n) && holds(s.in_sync, n); }
  std::pair<std::string, node_id> domain(node_id n) const {
    const auto found = nodes_.find(n);
    if (found == nodes_.end() || found->second.domain.empty()) return {{}, n};
    return {found->second.domain, node_id::none};
  }
  std::size_t count_usable(const shard_place& s) const {
    return static_cast<std::size_t>(
        std::count_if(s.replicas.begin(), s.replicas.end(), [&](node_id n) { return usable(n); }));
  }
  /// Whether a usable replica other than `except` and `n` is in the domain of `n`.
  bool shares_domain(const shard_place& s, node_id n, node_id except = node_id::none) const {
    return std::any_of(s.replicas.begin(), s.replicas.end(), [&](node_id r) {
      return r != n && r != except && usable(r) && domain(r) == domain(n);
    });
  }
  double load(const std::map<node_id, int>& of, node_id n, int more = 0) const {
    const auto found = of.find(n);
    const auto held = (found == of.end() ? 0 : found->second) + more;
    return held / nodes_.at(n).weight;
  }
  bool in_transit(const shard_place& s) const {
    return std::any_of(s.replicas.begin(), s.replicas.end(),
                       [&](node_id n) { return !ready(s, n); })
           || s.replicas.size() > goal_.replicas;
  }

  // -- what is done --------------------------------------------------------------------------

  void carry_out(shard_place& s, move::kind what, node_id n) {
    const move m{what, s.shard, n};
    moves_.push_back(m);
    if (!s.replicas.empty()) --leaders_[s.replicas.front()];
    if (what == move::kind::add_replica) ++replicas_[n], ++copying_;
    if (what == move::kind::drop_replica) --replicas_[n];
    if (what == move::kind::make_leader) ++leader_moves_;
    s.replicas = after(s, m);
    if (!s.replicas.empty()) ++leaders_[s.replicas.front()];
  }

  void lead_by_living(shard_place& s) {
    if (s.replicas.empty() || usable(s.replicas.front())) return;
    const auto best = best_leader(s);
    if (best && leader_moves_ < goal_.leader_moves) carry_out(s, move::kind::make_leader, *best);
  }
  std::optional<node_id> best_leader(const shard_place& s) const {
    std::optional<node_id> best;
    for (const auto n : s.replicas)
      if (ready(s, n) && (!best || load(leaders_, n) < load(leaders_, *best))) best = n;
    return best;
  }

  /// How glad one is to be rid of a replica: dead, draining, doubled in its domain, by load. Of
  /// equals rather not the leader, else the node's number decides and not its place, which moves.
  std::tuple<bool, bool, bool, double, bool, node_id> burden(const shard_place& s,
                                                             node_id n) const {
    const bool follows = n != s.replicas.front();
    if (!nodes_.contains(n)) return {true, true, true, 0, follows, n};
    if (!usable(n)) return {false, true, true, 0, follows, n};
    return {false, false, shares_domain(s, n), load(replicas_, n), follows, n};
  }
  node_id heaviest(const shard_place& s) const {
    return *std::max_element(s.replicas.begin(), s.replicas.end(),
                             [&](node_id a, node_id b) { return burden(s, a) < burden(s, b); });
  }
  void drop_superfluous(shard_place& s) {
    while (s.replicas.size() > 1) {
      const auto worst = heaviest(s);
      if (usable(worst) && s.replicas.size() <= goal_.replicas) return;
      std::uint32_t others = 0;
      for (const auto n : s.replicas)
        others += n != worst && ready(s, n) ? 1 : 0;
      // A dead node may come back as long as there is nobody in its place.
      const bool dead = !nodes_.contains(worst);
      if (others < (dead ? goal_.replicas : std::min(goal_.replicas, usable_nodes_))) return;
      if (worst == s.replicas.front()) {
        std::optional<node_id> next;
        for (const auto n : s.replicas)
          if (n != worst && ready(s, n) && (!next || load(leaders_, n) < load(leaders_, *next)))
            next = n;
        if (!next || leader_moves_ >= goal_.leader_moves) return;
        carry_out(s, move::kind::make_leader, *next);
      }
      carry_out(s, move::kind::drop_replica, worst);
    }
  }

  std::optional<node_id> best_place(const shard_place& s, node_id instead = node_id::none) const {
    std::optional<node_id> best;
    const auto key = [&](node_id n) {
      return std::tuple{shares_domain(s, n, instead), load(replicas_, n, 1), n};
    };
    for (const auto& [n, status] : nodes_)
      if (usable(n) && !holds(s.replicas, n) && (!best || key(n) < key(*best))) best = n;
    return best;
  }
  void add_missing(shard_place& s) {
    for (auto have = count_usable(s); have < goal_.replicas && copying_ < goal_.copies; ++have) {
      const auto n = best_place(s);
      if (!n) return;
      carry_out(s, move::kind::add_replica, *n);
    }
  }

  void spread_domains(shard_place& s) {
    if (in_transit(s) || copying_ >= goal_.copies) return;
    const auto doubled = std::find_if(s.replicas.begin(), s.replicas.end(),
                                      [&](node_id n) { return shares_domain(s, n); });
    if (doubled == s.replicas.end()) return;
    const auto n = best_place(s);
    if (n && !shares_domain(s, *n)) carry_out(s, move::kind::add_replica, *n);
  }

  /// From the most to the least loaded, while both come closer.
  void even_replicas() {
    while (copying_ < goal_.copies && even_one()) {
    }
  }
  bool even_one() {
    std::vector<node_id> by_load;
    for (const auto& [n, status] : nodes_)
      if (usable(n)) by_load.push_back(n);
    std::stable_sort(by_load.begin(), by_load.end(),
                     [&](node_id a, node_id b) { return load(replicas_, a) > load(replicas_, b); });
    for (const auto from : by_load)
      for (auto to = by_load.rbegin(); to != by_load.rend(); ++to) {
        // What is being moved away already counts twice until it is dropped.
        if (load(replicas_, from, -leaving_[from]) <= load(replicas_, *to, 1)) break;
        for (auto& s : shards_) {
          if (!holds(s.replicas, from) || holds(s.replicas, *to) || in_transit(s)) continue;
          if (shares_domain(s, *to, from) && !shares_domain(s, from)) continue;
          // The drop that follows takes the most loaded: let that be this one.
          const auto heavier = [&](node_id n) {
            return load(replicas_, n) > load(replicas_, from);
          };
          if (std::any_of(s.replicas.begin(), s.replicas.end(), heavier)) continue;
          ++leaving_[from];
          carry_out(s, move::kind::add_replica, *to);
          return true;
        }
      }
    return false;
  }

  /// One leadership less on a node that leads more than another by two or more, over a chain of
  /// shards: the first one's goes to a node that gives up another in turn.
  bool even_leaders() {
    struct step {
      node_id from;
      std::size_t shard;
    };
    std::vector<node_id> sources;
    for (const auto& [n, count] : leaders_)
      if (usable(n) && count > 0) sources.push_back(n);
    std::stable_sort(sources.begin(), sources.end(),
                     [&](node_id a, node_id b) { return load(leaders_, a) > load(leaders_, b); });
    for (const auto source : sources) {
      std::map<node_id, step> reached{{source, {source, 0}}};
      std::deque<node_id> todo{source};
      for (; !todo.empty(); todo.pop_front()) {
        const auto here = todo.front();
        if (load(leaders_, source) > load(leaders_, here, 1)) {
          std::vector<std::pair<std::size_t, node_id>> chain;
          for (auto n = here; n != source; n = reached.at(n).from)
            chain.emplace_back(reached.at(n).shard, n);
          for (const auto& [i, n] : chain)
            carry_out(shards_[i], move::kind::make_leader, n);
          return true;
        }
        for (std::size_t i = 0; i < shards_.size(); ++i) {
          const auto& s = shards_[i];
          if (s.replicas.empty() || s.replicas.front() != here) continue;
          for (const auto n : s.replicas)
            if (ready(s, n) && reached.emplace(n, step{here, i}).second) todo.push_back(n);
        }
      }
    }
    return false;
  }

  std::map<node_id, node_status> nodes_;
  std::vector<shard_place> shards_;
  balance_goal goal_;
  std::map<node_id, int> replicas_;
  std::map<node_id, int> leaders_;
  std::map<node_id, int> leaving_;
  std::uint32_t usable_nodes_ = 0;
  std::uint32_t copying_ = 0;
  std::uint32_t leader_moves_ = 0;
  std::vector<move> moves_;
};

} // namespace

std::vector<move> plan_moves(const std::vector<node_status>& nodes,
                             const std::vector<shard_place>& shards, const balance_goal& goal) {
  return planner{nodes, shards, goal}.plan();
}

std::vector<node_id> after(const shard_place& place, const move& m) {
  auto replicas = place.replicas;
  std::erase(replicas, m.node);
  if (m.what == move::kind::add_replica) replicas.push_back(m.node);
  if (m.what == move::kind::make_leader) replicas.insert(replicas.begin(), m.node);
  return replicas;
}

} // namespace lycosa::cluster
