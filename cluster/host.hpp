#pragma once

#include "actors/links.hpp"
#include "core/cluster/messages.hpp"
#include "core/cluster/types.hpp"
#include "core/result.hpp"
#include "core/types.hpp"

#include "coordination/store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lycosa::storage {
class replica_set;
}

/// A node's life in a cluster: it joins, keeps replicas of all data, and runs the scheduler while
/// it leads them.
namespace lycosa::cluster {

/// Channels of `actors::links`.
inline constexpr std::uint16_t replica_channel = 1;
inline constexpr std::uint16_t forward_channel = 2;

struct host_config {
  std::string data; ///< directory
  std::string name; ///< of the node
  /// The address that others reach this node's `links` at, host:port; port 0 = the one listened on.
  std::string advertise;
  std::string http_address; ///< for people and clients
  std::string failure_domain;
  std::uint16_t shards = 0; ///< of a new cluster; 0 = see storage::default_shards
  std::uint64_t map_size = 0;
  bool sync = true;
  std::uint32_t replicas = 3;
  std::uint32_t min_in_sync = 2;
  /// A node that is away for so long is replaced, if there is another.
  usec replace_after = std::chrono::minutes{5};
  std::uint64_t copy_rate = std::uint64_t{64} << 20; ///< bytes a second, of each shard
  replication_limits limits;
  actors::link_config links;
  coordination::config coordination;
};

struct host_ports {
  /// This node leads everything: start the scheduler on these replicas. On the host's thread, which
  /// may block. An error is logged, and it is tried again after some seconds.
  std::function<result<void>(std::shared_ptr<storage::replica_set>)> begin;
  /// It leads no more: nothing may be answered from now on. On any thread, must not block.
  std::function<void()> fence;
  /// Stop the scheduler; its commits fail by themselves. On the host's thread.
  std::function<void()> end;
  /// Another node runs the scheduler; none = nobody does, as far as is known. On the host's thread.
  std::function<void(std::optional<node_id>)> elsewhere;
  /// The session lasts until then: while this node leads, reads may be answered. On any thread.
  std::function<void(mono_time until)> lease;
};

/// One node of a cluster. All calls from any thread.
class host {
public:
  using done = std::function<void(result<void>)>;

  /// Checks the data directory, listens for other nodes, and joins the cluster as soon as the
  /// coordination store answers. Errors say what to do.
  /// `prepare` is called with the links before any other node is heard of: for further channels.
  static result<std::unique_ptr<host>> start(host_config config, host_ports ports,
                                             const std::function<void(actors::links&)>& prepare);
  virtual ~host() = default;

  /// Waits until the node has joined, up to `limit`. An error: why it never will, or has not yet.
  virtual result<void> wait_joined(usec limit) = 0;

  [[nodiscard]] virtual node_id self() const = 0;
  [[nodiscard]] virtual actors::links& links() = 0;

  /// The cluster as this node knows it: `GET /v1/cluster`.
  [[nodiscard]] virtual std::string status_json() const = 0;

  /// Wishes, kept in the coordination store until they are changed. Nodes by name or number.
  /// `not_found` for one that is not there.
  virtual void drain(std::string node, bool on, done reply) = 0;
  /// Empty name: no wish any more.
  virtual void prefer_leader(std::string node, done reply) = 0;

  /// Stops the scheduler if it runs here, then leaves: others take over at once.
  virtual void stop() = 0;
};

} // namespace lycosa::cluster
