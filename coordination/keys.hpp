#pragma once

#include "core/cluster/types.hpp"

#include "coordination/texts.hpp"

#include <string>
#include <string_view>

namespace lycosa::coordination {

/// Where everything stands. Members and sessions go with the node's etcd lease.
struct keys {
  std::string prefix;

  explicit keys(std::string_view cluster) : prefix("/lycosa/" + std::string(cluster) + "/") {}

  [[nodiscard]] std::string facts() const { return prefix + "facts"; }
  [[nodiscard]] std::string members() const { return prefix + "members/"; }
  [[nodiscard]] std::string sessions() const { return prefix + "sessions/"; }
  [[nodiscard]] std::string shards() const { return prefix + "shards/"; }
  [[nodiscard]] std::string notes() const { return prefix + "notes/"; }

  [[nodiscard]] std::string member(cluster::node_id node) const {
    return members() + id_text(static_cast<std::uint64_t>(node));
  }
  [[nodiscard]] std::string session(cluster::session_id id) const {
    return sessions() + id_text(static_cast<std::uint64_t>(id));
  }
};

} // namespace lycosa::coordination
