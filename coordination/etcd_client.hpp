#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include "coordination/endpoint.hpp"
#include "coordination/http_channel.hpp"
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lycosa::coordination {

struct client_config {
  std::vector<std::string> endpoints;
  usec timeout = std::chrono::seconds{5}; ///< of a call, over all endpoints
  std::string user;                       ///< empty = without
  std::string password;
  std::string ca;
  std::string cert;
  std::string key;
};

struct call_options {
  usec timeout{0};     ///< 0 = the client's
  bool urgent = false; ///< does not wait for other calls
};

/// What is streamed by the server, answer after answer.
class answer_stream {
public:
  virtual ~answer_stream() = default;
  /// Waits as long as it takes; fails with the connection, and when another endpoint is turned to.
  virtual boost::asio::awaitable<result<nlohmann::json>> next() = 0;
};

/// Speaks to etcd v3 through its JSON gateway. All of it happens on the thread that runs the
/// io_context.
///
/// One endpoint at a time serves everything. When it fails a call, that and all later ones go to
/// the next, and streams end: what a deaf endpoint would not tell is not waited for. A call may
/// reach the server twice, so whatever is asked must bear that.
class etcd_client {
public:
  static result<std::unique_ptr<etcd_client>> make(boost::asio::io_context& io,
                                                   client_config config);
  ~etcd_client();
  etcd_client(const etcd_client&) = delete;
  etcd_client& operator=(const etcd_client&) = delete;

  /// `path` begins with /v3/. The answer is an object with etcd's header in it. Errors:
  /// unavailable = it may do later; incompatible = what answers is no etcd; else etcd refuses.
  boost::asio::awaitable<result<nlohmann::json>> call(std::string path, nlohmann::json body,
                                                      call_options options);

  /// Begins what is answered by a stream, e.g. /v3/watch.
  boost::asio::awaitable<result<std::unique_ptr<answer_stream>>> stream(std::string path,
                                                                        nlohmann::json body);

  /// Ends everything that goes on; later calls fail.
  void close();

private:
  struct trouble;
  class stream_of;
  template <class T>
  using attempt_result = tl::expected<T, trouble>;
  using time_limit = mono_time;

  etcd_client(boost::asio::io_context& io, client_config config, std::vector<endpoint> endpoints,
              std::shared_ptr<boost::asio::ssl::context> tls);

  boost::asio::awaitable<bool> wait_for_turn(time_limit until);
  void turn_over();
  boost::asio::awaitable<result<nlohmann::json>>
  call_now(const std::string& path, const std::string& body, time_limit until);
  boost::asio::awaitable<attempt_result<nlohmann::json>>
  attempt(std::size_t at, const std::string& path, const std::string& body, time_limit until);
  boost::asio::awaitable<attempt_result<std::shared_ptr<channel>>>
  attempt_stream(std::size_t at, const std::string& path, const std::string& body,
                 time_limit until);
  boost::asio::awaitable<result<http_answer>> exchange(std::size_t at, http_request request,
                                                       time_limit until);
  boost::asio::awaitable<attempt_result<void>> log_in(std::size_t at, time_limit until);
  attempt_result<nlohmann::json> understand(std::size_t at, const http_answer& answer) const;
  void turn_from(std::size_t at, const error& why);

  boost::asio::io_context& io_;
  client_config config_;
  std::vector<endpoint> endpoints_;
  std::shared_ptr<boost::asio::ssl::context> tls_;

  std::size_t current_ = 0;
  std::uint64_t turns_ = 0;                    ///< how often an endpoint was turned from
  std::vector<std::shared_ptr<channel>> idle_; ///< to the current endpoint
  std::set<channel*> streams_;                 ///< the same
  std::set<channel*> busy_;                    ///< to any
  unsigned running_ = 0;
  std::deque<boost::asio::steady_timer*> waiting_;
  std::string token_;
  bool without_login_ = false; ///< the server has no users
  bool closed_ = false;
};

} // namespace lycosa::coordination
