#pragma once

#include "actors/replica_host.hpp"
#include "coordination/store.hpp"
#include "core/cluster/group_plan.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace lycosa::cluster {

/// What a node knows of its cluster from the coordination store.
struct view {
  node_id self = node_id::none;
  std::string name;
  std::optional<coordination::cluster_facts> facts;
  std::map<node_id, coordination::member> members;
  std::map<node_id, mono_time> gone; ///< since when those are away that were there
  std::map<node_id, std::string> names; ///< of all that ever were there, as far as is known
  std::map<std::string, shard_record> records;
  std::map<std::string, std::string> notes;

  void members_seen(std::map<node_id, coordination::member> all, mono_time now);
  void record_seen(const std::string& shard, const std::optional<shard_record>& is);
  void note_seen(const std::string& key, const std::optional<std::string>& value);

  [[nodiscard]] bool draining(node_id n) const;
  [[nodiscard]] node_id wished_leader() const;
  /// By name or number; none = there is no such node.
  [[nodiscard]] node_id find(const std::string& node) const;
  [[nodiscard]] std::string name_of(node_id n) const;
  /// Who leads all environments; none = nobody does.
  [[nodiscard]] node_id active() const;
  [[nodiscard]] std::map<node_id, session_id> sessions() const;

  /// What to propose now, if this node leads the catalog.
  [[nodiscard]] std::map<std::string, shard_record> plan(group_goal goal, usec replace_after,
                                                         mono_time now) const;
};

[[nodiscard]] std::string hex(node_id n);
[[nodiscard]] std::string drain_note(node_id n);
inline constexpr const char* leader_note = "leader";

/// `GET /v1/cluster`. `trouble` tells why there is no link to a node.
[[nodiscard]] std::string
to_json(const view& v, const std::vector<actors::replica_status>& here,
        const std::function<std::pair<bool, std::string>(node_id)>& link);

} // namespace lycosa::cluster
