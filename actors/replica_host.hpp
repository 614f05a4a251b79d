#pragma once

#include "actors/clock.hpp"
#include "core/cluster/shard_replica.hpp"
#include "storage/replica_codec.hpp"
#include "storage/replica_store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace lycosa::actors {

/// What a replica says to the rest of its node. Called from its threads, some while it is locked:
/// must not block, nor call back.
struct replica_ports {
  std::function<void(cluster::node_id to, std::string message)> send;
  std::function<void(cluster::shard_record next, cluster::session_id ended)> propose;
  /// It leads now, or no longer; or the record has changed.
  std::function<void()> changed;
};

struct replica_config {
  std::uint16_t number = 0; ///< of the environment: a shard's, or `storage::catalog_number`
  std::string name;         ///< for the log
  cluster::node_id self = cluster::node_id::none;
  cluster::replication_limits limits;
  std::size_t copy_chunk = std::size_t{1} << 20;   ///< bytes of a piece of a copy
  std::uint64_t copy_rate = std::uint64_t{64} << 20; ///< bytes a second at most, while copying
};

/// How a replica stands, for operators.
struct replica_status {
  std::string name;
  bool leads = false;
  bool whole = true;
  cluster::entry_id end;
  cluster::lsn_number acknowledged = 0; ///< of a leader
  std::optional<cluster::shard_record> record;
  std::uint64_t log_bytes = 0;
};

/// One replicated environment of this node: carries out on its disk and network what
/// `cluster::shard_replica` decides. It has two threads, one for messages and the disk, one that
/// reads copies. On a leader the environment's own store writes, through the gate.
class replica_host : public storage::commit_gate {
public:
  /// `store` must outlive it.
  static result<std::unique_ptr<replica_host>> start(replica_config config,
                                                     storage::replica_store& store, clock_ptr time,
                                                     replica_ports ports);

  // -- from the coordination store; any thread, returns at once ---
  virtual void session_seen(cluster::session_id session, mono_time until) = 0;
  virtual void session_ended() = 0;
  virtual void members_seen(std::map<cluster::node_id, cluster::session_id> members) = 0;
  virtual void record_seen(cluster::shard_record record) = 0;
  /// A message from another node; any thread, returns at once. Too many are dropped.
  virtual void receive(cluster::node_id from, storage::replica_message message) = 0;

  /// Whether this node leads; and whether all members have what it leads with, so that it can be
  /// worked on. Reads count only while the session lasts.
  [[nodiscard]] virtual bool leads() const = 0;
  [[nodiscard]] virtual bool serves() const = 0;
  [[nodiscard]] virtual replica_status status() const = 0;

  /// The environment's own store is going to be opened, and is closed again. Between the two only
  /// that store writes.
  virtual void attach() = 0;
  virtual void detach() = 0;

  ~replica_host() override = default;
};

} // namespace lycosa::actors
