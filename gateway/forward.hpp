#pragma once

#include "gateway/front.hpp"

#include "wire/forward_frames.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace lycosa::gateway {

/// Bytes of an answer that may be on their way without the client's node having asked for more.
inline constexpr std::size_t forward_window = std::size_t{1} << 20;
/// Bytes of a body in one message.
inline constexpr std::size_t forward_slice = std::size_t{256} << 10;

/// The client's side of forwarding: passes requests on and gives their answers to the clients.
class forwarder : public std::enable_shared_from_this<forwarder> {
public:
  forwarder(std::shared_ptr<forward_transport> transport, std::size_t max_bytes);

  /// On the connection's thread.
  void forward(cluster::node_id to, front::interface kind, request r, const exchange_ptr& x);
  /// What the active node says.
  void take(cluster::node_id from, wire::forward_frame frame);
  /// Answers what is open at `node` with 503.
  void give_up(cluster::node_id node, std::string_view why);

  /// One forwarded request.
  struct call;
  using call_ptr = std::shared_ptr<call>;

  /// Nothing more is wanted of it.
  void cancel(std::uint64_t id);
  void send(const call& c, wire::forward_content content, std::string_view body = {});

private:
  call_ptr find(cluster::node_id from, std::uint64_t id);
  void forget(std::uint64_t id);
  void answer(const call_ptr& c, wire::forward_head head);
  bool send_all(const call& c, front::interface kind, const request& r);

  std::shared_ptr<forward_transport> transport_;
  std::shared_ptr<budget> bytes_;
  std::atomic<std::uint64_t> last_id_;
  std::mutex mutex_;
  std::map<std::uint64_t, call_ptr> calls_;
};

} // namespace lycosa::gateway
