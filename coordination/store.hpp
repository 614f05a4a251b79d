#pragma once

#include "core/cluster/shard_record.hpp"
#include "core/cluster/types.hpp"
#include "core/result.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the nodes of a cluster have in common: a small, consistent store that none of them owns.
namespace lycosa::coordination {

/// A node as the others see it. It is there while its session lasts.
struct member {
  cluster::node_id node = cluster::node_id::none;
  cluster::session_id session = cluster::session_id::none; ///< given by the store
  std::string name;
  std::string cluster_address; ///< host:port for other nodes
  std::string http_address;
  std::string failure_domain;
  std::uint32_t wire_version = 0;
  std::uint32_t oldest_wire_version = 0; ///< what it still understands
  friend bool operator==(const member&, const member&) = default;
};

/// Written once, by the founder.
struct cluster_facts {
  std::string id; ///< random: no two clusters have the same
  std::uint32_t format = 0;
  std::uint16_t shards = 0;
  friend bool operator==(const cluster_facts&, const cluster_facts&) = default;
};

struct config {
  std::vector<std::string> endpoints; ///< http://host:port or https://host:port, the first first
  std::string cluster;                ///< keys are /lycosa/<cluster>/…
  usec session_ttl = std::chrono::seconds{3}; ///< whole seconds, at least 2
  double clock_drift = 0.01;                  ///< see cluster::session_lease
  usec timeout = std::chrono::seconds{5};     ///< of a request, over all endpoints
  std::string user;                           ///< empty = without
  std::string password;
  std::string ca;   ///< file of certificates that are trusted; empty = the system's
  std::string cert; ///< file of this node's certificate and key; empty = without
  std::string key;
};

/// Who is told. All calls come from the store's thread, one at a time, and must not block.
///
/// What the store holds comes as facts, records, notes and then members, once it has been read;
/// afterwards what changes. Intermediate states may be left out, the last one is not.
struct observer {
  virtual ~observer() = default;
  /// This node's session has begun, or goes on until then at least.
  virtual void session(cluster::session_id id, mono_time until) = 0;
  /// It is over, at `until` or before. The store begins another one by itself.
  virtual void session_ended() = 0;
  /// All of them.
  virtual void members(std::map<cluster::node_id, member> all) = 0;
  /// none = there is no such record (any more).
  virtual void record(std::string_view shard, std::optional<cluster::shard_record> is) = 0;
  /// none = the cluster has not been founded.
  virtual void facts(std::optional<cluster_facts> are) = 0;
  /// A key that operators and nodes may use freely, e.g. for what is wished of a node.
  virtual void note(std::string_view key, std::optional<std::string> value) = 0;
};

/// A node's access to the coordination store. May be called from any thread, the observer's calls
/// included, except that `stop` and the destructor wait for that thread.
///
/// While the store is away everything is tried again; the session ends when its time is over.
class store {
public:
  using done = std::function<void(result<void>)>;    ///< on the store's thread
  using founded = std::function<void(result<bool>)>; ///< the same

  virtual ~store() = default;

  /// Writes the record if its version still is `next.version` (0 = there is none) and if the
  /// session `ended`, where one is named, is over. What has come of it is seen through
  /// `observer::record` alone; when it was refused, that is called with what is there. When the
  /// store is away nothing is called, and the change may have been made or not.
  virtual void propose(std::string shard, cluster::shard_record next,
                       cluster::session_id ended) = 0;

  /// Writes all of this if the cluster has no facts yet; false = somebody else has founded it.
  virtual void found(cluster_facts facts, std::map<std::string, cluster::shard_record> records,
                     founded reply) = 0;

  virtual void put_note(std::string key, std::string value, done reply) = 0;
  virtual void erase_note(std::string key, done reply) = 0;

  /// Ends the session in the store too, so that others need not wait, and calls nobody afterwards.
  /// The node must have stopped to act on the session. Takes `timeout` at most.
  virtual void stop() = 0;
};

/// Joins the cluster through etcd (v3, its JSON gateway) as `self`; the session in it is ignored.
/// Fails for settings that cannot work, not for an etcd that is away. `watcher` must outlive it.
[[nodiscard]] result<std::unique_ptr<store>> start_etcd(config settings, member self,
                                                        observer& watcher);

} // namespace lycosa::coordination
