#pragma once

#include "core/cluster/types.hpp"
#include "core/types.hpp"
#include "gateway/cluster_door.hpp"
#include "gateway/http.hpp"
#include "gateway/server.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lycosa::actors {
class node;
}

namespace lycosa::gateway {

struct shared_state;

/// Brings what fronts say to one another. Between two of them: in order, at most once.
struct forward_transport {
  virtual ~forward_transport() = default;
  /// False: it will not arrive. From any thread; must not call the front.
  virtual bool send(cluster::node_id to, std::string bytes) = 0;
};

struct front_config {
  limits_config limits;
  usec event_keep_alive = std::chrono::seconds{15}; ///< silence in a stream of events, at most
  std::size_t max_body = std::size_t{64} << 20U;    ///< bytes of a request that was forwarded here
  std::size_t max_in_flight_bytes = std::size_t{256} << 20U; ///< of all those
  /// Bytes of bodies on their way to another node; what would pass it gets 429.
  std::size_t max_forwarded_bytes = std::size_t{128} << 20U;
  unsigned threads = 1; ///< that answer what other nodes forward
  std::size_t metrics_projects = 50; ///< named in /metrics; the others are counted together
  std::string version;               ///< of the program
  /// Answers what concerns the cluster; null = as a single node does. Outlives the front.
  cluster_door* cluster = nullptr;
  std::function<void()> quit; ///< pyspider's `_quit`; may be called often, on any thread
};

/// Where the requests of clients go: to a node of this process, to another one's, or nowhere. It
/// outlives the nodes behind it, and so do the servers in front of it. Whatever it says, the
/// dashboard's files, `/healthz`, `/readyz`, `/metrics` and `/v1/cluster` are answered here.
///
///     front f({}, transport);
///     auto http = server::start(config, f);
///     f.forward_to(active);            // another node is active
///     f.serve(*node);                  // this one is
///     f.withdraw("it steps down");     // no more requests
///     node->stop();                    // answers those that are open
///     f.release();                     // now the node may be destroyed
///
/// All calls from any thread, but one at a time of those that say where requests go.
class front {
public:
  enum class interface { http, xmlrpc };

  /// `transport` none = nothing is forwarded.
  explicit front(front_config config, std::shared_ptr<forward_transport> transport = nullptr);
  /// After the servers have stopped and the node is released.
  ~front();
  front(const front&) = delete;
  front& operator=(const front&) = delete;

  // -- where requests go -------------------------------------------------------------------------
  // Leaving a local node is `withdraw`, leaving another one answers what is open there with 503.

  /// To a node of this process, which lives until `release`.
  void serve(actors::node& node);
  /// Until this moment, of the monotonic clock, the local node surely is the one that leads: answers
  /// that would be given later are withheld. Never called = for ever.
  void valid_until(mono_time until);
  /// To the active node. A request that arrives there when it is not active gets 503.
  void forward_to(cluster::node_id node);
  /// To nobody: 503, Retry-After. Returns when no request is about to enter the local node.
  void withdraw(std::string why);
  /// After the local node was stopped: returns when nothing refers to it any more.
  void release();

  // -- from the other nodes ----------------------------------------------------------------------

  void on_message(cluster::node_id from, std::string_view bytes);
  /// Down: what was forwarded there is answered with 503, what came from there is given up.
  void on_change(cluster::node_id node, bool up);
  void on_down(cluster::node_id node) { on_change(node, false); }

  // -- from clients ------------------------------------------------------------------------------

  /// The server whose requests /metrics is to tell of.
  void counted_by(std::weak_ptr<shared_state> server);
  /// For servers; on the connection's thread.
  void handle(interface kind, request r, const exchange_ptr& x);

private:
  struct inside;
  std::unique_ptr<inside> inside_;
};

/// 503 with Retry-After and the code `unavailable`.
[[nodiscard]] response unavailable(std::string_view why);

} // namespace lycosa::gateway
