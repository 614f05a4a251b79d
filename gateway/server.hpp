#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lycosa::actors {
class node;
}

/// The HTTP front of a node.
namespace lycosa::gateway {

class front;

/// What one task or list may be at most. Larger ones are refused with the limit's name.
struct limits_config {
  std::size_t taskid = 256;                 ///< bytes
  std::size_t url = std::size_t{8} << 10U;  ///< bytes
  std::size_t task = std::size_t{1} << 20U; ///< bytes of JSON, also of one report
  std::size_t list = 100'000;               ///< items in one request
};

struct server_config {
  std::string host = "127.0.0.1";                  ///< a numeric address
  std::uint16_t port = 8040;                       ///< 0 = any free one
  unsigned threads = 0;                            ///< 0 = one for every two cores
  std::size_t max_body = std::size_t{64} << 20U;   ///< bytes, sent and decompressed alike
  std::size_t max_header = std::size_t{16} << 10U; ///< bytes
  usec idle_timeout = std::chrono::seconds{60};    ///< a connection without a request
  usec header_timeout = std::chrono::seconds{10};  ///< first to last byte of a header
  /// Time a body may take to arrive and an answer to be read, plus one second for each 64 KiB
  /// moved: slower clients are cut.
  usec body_timeout = std::chrono::seconds{20};
  usec event_keep_alive = std::chrono::seconds{15}; ///< silence in a stream of events, at most
  std::size_t max_connections = 4096;               ///< one more gets 503
  /// Bytes of request bodies held at a time, by all connections. What would pass it gets 429;
  /// small requests are let in regardless.
  std::size_t max_in_flight_bytes = std::size_t{256} << 20U;
  limits_config limits;
  std::size_t metrics_projects = 50; ///< named in /metrics; the others are counted together
  std::string version;               ///< of the program
  std::string tls_cert;              ///< PEM file with the chain; empty = plain HTTP
  std::string tls_key;               ///< PEM file
};

/// Takes requests from `start` to `stop`. Each connection lives on one of the threads.
///
///     auto front = server::start({.port = 0}, node);
///     …
///     (*front)->stop(std::chrono::seconds{4});
///     node.stop();
class server {
public:
  /// Binds and starts the threads. `node` must live until after `stop`. Errors:
  /// `invalid_argument` for a bad address or certificate, `io_error` when the port is taken.
  static result<std::unique_ptr<server>> start(const server_config& config, actors::node& node);

  /// pyspider's XML-RPC interface in its place. `quit` is called for `_quit`, on any thread.
  static result<std::unique_ptr<server>>
  start_xmlrpc(const server_config& config, actors::node& node, std::function<void()> quit);

  /// The same for requests that go wherever `front` says at the moment. It must live until after
  /// `stop`.
  static result<std::unique_ptr<server>> start(const server_config& config, front& front);
  static result<std::unique_ptr<server>> start_xmlrpc(const server_config& config, front& front);

  server(const server&) = delete;
  server& operator=(const server&) = delete;
  virtual ~server() = default; ///< stops with no grace

  /// The port that is listened on.
  [[nodiscard]] virtual std::uint16_t port() const = 0;

  /// No new connections; each open one is closed after the answer it is owed. Waiting leases are
  /// answered at once with no tasks.
  virtual void stop_accepting() = 0;

  /// `stop_accepting`, then waits up to `grace` for the answers under way, then cuts what is left.
  /// When it returns no request is being served and no thread runs. Callable once.
  virtual void stop(usec grace) = 0;

protected:
  server() = default;
};

} // namespace lycosa::gateway
