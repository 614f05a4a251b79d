#pragma once

#include "core/cluster/types.hpp"
#include "core/result.hpp"
#include "core/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace lycosa::actors {

struct link_config {
  std::string listen;  ///< host:port to bind; port 0 = any free one, no host = every interface
  std::string cluster; ///< name; nodes of another one are refused
  cluster::node_id self = cluster::node_id::none;
  std::string name; ///< of this node, for people
  std::uint32_t wire_version = 1;
  std::uint32_t oldest_wire_version = 1; ///< it can speak to; a node's version and this are a range
  std::string secret;                    ///< that all nodes know; may be empty
  std::string tls_cert; ///< PEM files; all three or none. Both sides present a certificate that
  std::string tls_key;  ///< the authority has signed.
  std::string tls_ca;
  usec heartbeat = std::chrono::milliseconds{500};         ///< silence of four and a peer is down
  std::size_t max_message = std::size_t{64} << 20U;        ///< bytes of one body
  std::size_t max_outstanding = std::size_t{256} << 20U;   ///< bytes a peer has not dealt with yet
  usec longest_back_off = std::chrono::milliseconds{1000}; ///< between attempts to connect
};

/// A message's body. Never changed once it is sent.
using bytes_ptr = std::shared_ptr<const std::string>;

/// Messages between the nodes of one cluster: one connection for each two nodes, made by the one
/// with the smaller number, kept, and made anew after it was lost. A peer is up from the moment on
/// that both have shown that they belong to the same cluster, speak a common version and know the
/// secret; it is down when the connection ends, when it is silent for four heartbeats, or when it
/// leaves `max_outstanding` bytes undone.
///
/// What is sent arrives in the order it was sent, each message at most once; what was on its way
/// when a peer goes down may or may not have arrived. All calls from any thread.
class links {
public:
  using message_handler = std::function<void(cluster::node_id from, bytes_ptr)>;
  using change_handler = std::function<void(cluster::node_id, bool up)>;

  /// Listens. Errors: `invalid_argument`; `io_error` when the port is taken or a certificate cannot
  /// be used.
  static result<std::unique_ptr<links>> start(const link_config& config);

  /// `stop`.
  ~links();
  links(const links&) = delete;
  links& operator=(const links&) = delete;

  /// What is called for messages of a channel; others are dropped. Before the first `members`.
  ///
  /// For one peer, calls of these and of the change handler come one at a time and in order, on
  /// threads of the links; a message comes only after the peer's `up`. They may send, and may block
  /// for a moment: what a peer sends meanwhile counts against its `max_outstanding`.
  void handle(std::uint16_t channel, message_handler handler);
  void on_change(change_handler handler);

  /// The cluster's nodes and their addresses, host:port; this one may be among them. Links to
  /// others are cut, and those are refused until they are named here.
  void members(std::map<cluster::node_id, std::string> all);

  /// Best effort. False: there is no link, or the body is too long, or the peer has too much
  /// undone, for which it is cut. A message to this node itself is delivered like any other.
  bool send(cluster::node_id to, std::uint16_t channel, bytes_ptr body);

  [[nodiscard]] bool is_up(cluster::node_id node) const;
  /// Why a peer is not up, for people; empty = nothing is known to be wrong.
  [[nodiscard]] std::string trouble(cluster::node_id node) const;
  [[nodiscard]] std::uint16_t port() const;

  /// Cuts all links. When it returns no handler runs, and none is called any more. Not from within
  /// a handler.
  void stop();

private:
  struct inside;
  explicit links(std::unique_ptr<inside> in);
  std::unique_ptr<inside> inside_;
};

} // namespace lycosa::actors
