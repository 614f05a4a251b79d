#pragma once

#include "core/cluster/session_lease.hpp"

#include "coordination/etcd_client.hpp"
#include "coordination/keys.hpp"
#include "coordination/retry.hpp"
#include "coordination/store.hpp"
#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace lycosa::coordination {

/// Keeps a node in the cluster: an etcd lease that holds its member and session keys. When one has
/// ended, by the node's own clock or by etcd's word, it is revoked and another one begun.
class session_keeper {
public:
  session_keeper(boost::asio::io_context& io, etcd_client& client, const keys& at,
                 const config& settings, member self, observer& watcher);

  /// Goes on until `leave`.
  boost::asio::awaitable<void> run();

  /// Takes the node out of the cluster; the observer is not told.
  boost::asio::awaitable<void> leave();

private:
  boost::asio::awaitable<result<void>> begin();
  boost::asio::awaitable<result<void>> join(cluster::session_id id);
  boost::asio::awaitable<void> keep();
  boost::asio::awaitable<result<void>> revoke(cluster::session_id id);
  boost::asio::awaitable<void> sleep_until(mono_time at);
  void prolonged(mono_time asked_at);
  void end();

  etcd_client& client_;
  const keys& keys_;
  std::chrono::seconds ttl_;
  double drift_;
  member self_;
  observer& observer_;
  retry retry_;

  cluster::session_lease lease_;
  cluster::session_id current_ = cluster::session_id::none;
  cluster::session_id stale_ = cluster::session_id::none; ///< to be revoked before the next
  mono_time asked_at_{};                                  ///< when the last grant was
  bool leaving_ = false;
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer expiry_;
};

} // namespace lycosa::coordination
