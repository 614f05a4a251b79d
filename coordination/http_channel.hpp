#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include "coordination/endpoint.hpp"
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace lycosa::coordination {

struct http_request {
  std::string path;
  std::string body;  ///< JSON
  std::string token; ///< for the Authorization field; empty = without
};

struct http_answer {
  unsigned status = 0;
  std::string body;
  bool reusable = false; ///< the connection takes another request
};

/// A connection to an HTTP server, for one request at a time. Every wait ends at the moment named
/// with it, or with `close`. Not safe for threads.
class channel {
public:
  virtual ~channel() = default;

  virtual boost::asio::awaitable<result<http_answer>> post(const http_request& request,
                                                           mono_time until) = 0;

  /// The same, but of the answer only the head is waited for; `next_line` reads on, if the status
  /// is 200. Otherwise the body is there too.
  virtual boost::asio::awaitable<result<http_answer>> begin(const http_request& request,
                                                            mono_time until) = 0;
  /// Without its end. Waits as long as it takes.
  virtual boost::asio::awaitable<result<std::string>> next_line() = 0;

  /// Ends whatever is being waited for.
  virtual void close() = 0;
};

/// `tls` is used, and not null, where the endpoint asks for it.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<channel>>>
open_channel(boost::asio::io_context& io, endpoint to,
             std::shared_ptr<boost::asio::ssl::context> tls, mono_time until);

} // namespace lycosa::coordination
