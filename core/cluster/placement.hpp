#pragma once

#include "core/cluster/types.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lycosa::cluster {

/// Which node a project's actor lives on: highest random weight, called rendezvous hashing (Thaler
/// & Ravishankar 1998). Every node draws a number for the project, the highest has it. All who know
/// the same nodes agree without asking; a node that leaves gives up its own projects only, a node
/// that joins takes its share only.
///
/// Numbers are of XXH3 and the same on every machine. DO NOT CHANGE: nodes of two versions that
/// disagree would both start a project.
///
/// O(nodes) a lookup, a few ns each; nodes of different weights cost a logarithm more, whose last
/// bit may differ between machines: who starts a project has to be told apart by more than this.
class placement {
public:
  struct member {
    node_id node = node_id::none;
    double weight = 1; ///< share relative to others; ≤ 0 = gets nothing
  };

  placement() = default;
  /// The order of members does not matter.
  explicit placement(const std::vector<member>& members);

  /// none = there is nobody.
  [[nodiscard]] node_id owner(std::string_view project) const;
  /// The first `count` in order: who would have it if those before were not there.
  [[nodiscard]] std::vector<node_id> owners(std::string_view project, std::size_t count) const;
  [[nodiscard]] std::size_t size() const { return seats_.size(); }

private:
  struct seat {
    node_id node;
    std::uint64_t seed;
    double weight;
  };
  std::vector<seat> seats_; ///< by node
  bool equal_ = true;       ///< all weights are
};

} // namespace lycosa::cluster
