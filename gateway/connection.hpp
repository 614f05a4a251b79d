#pragma once

#include "gateway/session.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <functional>
#include <memory>

namespace lycosa::gateway {

/// One I/O thread's context. Kept alive by the requests that are with the node, so that a late
/// answer finds something to be posted to.
using loop_ptr = std::shared_ptr<boost::asio::io_context>;

/// Starts serving a connection; `ended` is called on its thread when it is over. `tls` null =
/// plain. Call on the loop's thread.
std::shared_ptr<session> serve(loop_ptr loop, boost::asio::ip::tcp::socket socket,
                               boost::asio::ssl::context* tls, std::shared_ptr<shared_state> shared,
                               std::function<void(session*)> ended);

} // namespace lycosa::gateway
