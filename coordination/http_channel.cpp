#include "coordination/http_channel.hpp"

#include "coordination/time.hpp"
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>

namespace lycosa::coordination {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto awaitably = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t largest_answer = 64 << 20;
constexpr std::size_t largest_head = 64 * 1024;

tl::unexpected<error> broken(const endpoint& at, const char* doing, error_code ec) {
  const bool late = ec == beast::error::timeout;
  return fail(errc::unavailable, at.text(),
              std::string(doing) + ": " + (late ? "no answer in time" : ec.message()));
}

/// A message that is no HTTP, which reading again would not better.
tl::unexpected<error> unreadable(const endpoint& at, error_code ec) {
  const bool parsing = ec.category() == make_error_code(http::error::bad_version).category()
                       && ec != http::error::end_of_stream && ec != http::error::partial_message;
  if (!parsing) return broken(at, "reading the answer", ec);
  return fail(errc::incompatible, at.text(), "does not speak HTTP as etcd does: " + ec.message());
}

/// Nothing is sent while a watch waits, so the system has to find out that the other end is gone.
void watch_connection(tcp::socket& socket) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

template <class Stream>
class channel_of final : public channel {
public:
  channel_of(endpoint to, std::shared_ptr<asio::ssl::context> tls, Stream stream)
      : to_(std::move(to)), tls_(std::move(tls)), stream_(std::move(stream)) {}

  Stream& stream() { return stream_; }

  asio::awaitable<result<http_answer>> post(const http_request& request, mono_time until) override {
    auto sent = co_await send(request, until);
    if (!sent) co_return tl::unexpected(std::move(sent.error()));
    http::response_parser<http::string_body> parser;
    limit(parser);
    const auto [ec, n] = co_await http::async_read(stream_, buffer_, parser, awaitably);
    if (ec) co_return unreadable(to_, ec);
    co_return taken(parser);
  }

  asio::awaitable<result<http_answer>> begin(const http_request& request,
                                             mono_time until) override {
    auto sent = co_await send(request, until);
    if (!sent) co_return tl::unexpected(std::move(sent.error()));
    auto& parser = streamed_.emplace();
    limit(parser);
    const auto [ec, n] = co_await http::async_read_header(stream_, buffer_, parser, awaitably);
    if (ec) co_return unreadable(to_, ec);
    if (parser.get().result() == http::status::ok) {
      parser.body_limit(boost::none);
      beast::get_lowest_layer(stream_).expires_never();
      http_answer head;
      head.status = 200;
      co_return head;
    }
    const auto [ec2, n2] = co_await http::async_read(stream_, buffer_, parser, awaitably);
    if (ec2) co_return unreadable(to_, ec2);
    co_return taken(parser);
  }

  asio::awaitable<result<std::string>> next_line() override {
    for (std::size_t searched = 0;;) {
      const auto end = line_.find('\n', searched);
      if (end != std::string::npos) {
        auto line = line_.substr(0, end);
        line_.erase(0, end + 1);
        co_return line;
      }
      searched = line_.size();
      if (line_.size() > largest_answer)
        co_return fail(errc::incompatible, to_.text(), "a line without an end");
      if (streamed_->is_done())
        co_return fail(errc::unavailable, to_.text(), "the server has ended the watch");
      const auto [ec, n] = co_await http::async_read_some(stream_, buffer_, *streamed_, awaitably);
      auto& read = streamed_->get().body();
      line_ += read;
      read.clear(); // the parser appends to it
      if (ec) co_return unreadable(to_, ec);
    }
  }

  void close() override { beast::get_lowest_layer(stream_).close(); }

private:
  template <class Parser>
  static void limit(Parser& parser) {
    parser.body_limit(largest_answer);
    parser.header_limit(largest_head);
  }

  template <class Parser>
  static http_answer taken(Parser& parser) {
    auto message = parser.release();
    http_answer a;
    a.status = message.result_int();
    a.reusable = message.keep_alive();
    a.body = std::move(message.body());
    return a;
  }

  asio::awaitable<result<void>> send(const http_request& request, mono_time until) {
    http::request<http::string_body> message{http::verb::post, request.path, 11};
    message.set(http::field::host, to_.host + ":" + std::to_string(to_.port));
    message.set(http::field::content_type, "application/json");
    if (!request.token.empty()) message.set(http::field::authorization, request.token);
    message.body() = request.body;
    message.prepare_payload();
    beast::get_lowest_layer(stream_).expires_at(on_steady_clock(until));
    const auto [ec, n] = co_await http::async_write(stream_, message, awaitably);
    if (ec) co_return broken(to_, "sending", ec);
    co_return result<void>{};
  }

  endpoint to_;
  std::shared_ptr<asio::ssl::context> tls_; ///< outlives the stream
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> streamed_;
  std::string line_; ///< read and not yet handed out
};

using found_addresses = std::vector<tcp::endpoint>;

/// The resolver cannot be interrupted: it is left alone when it takes too long.
asio::awaitable<result<found_addresses>> look_up(asio::io_context& io, const endpoint& to,
                                                 mono_time until) {
  error_code none;
  const auto address = asio::ip::make_address(to.host, none);
  if (!none) co_return found_addresses{tcp::endpoint{address, to.port}};

  struct lookup {
    explicit lookup(asio::io_context& on) : resolver(on), wake(on) {}
    tcp::resolver resolver;
    asio::steady_timer wake;
    bool done = false;
    error_code ec;
    found_addresses found;
  };
  const auto state = std::make_shared<lookup>(io);
  state->wake.expires_at(on_steady_clock(until));
  state->resolver.async_resolve(to.host, std::to_string(to.port),
                                [state](error_code ec, const tcp::resolver::results_type& found) {
                                  state->done = true;
                                  state->ec = ec;
                                  for (const auto& entry : found)
                                    state->found.push_back(entry.endpoint());
                                  state->wake.cancel();
                                });
  co_await state->wake.async_wait(awaitably);
  if (!state->done) co_return fail(errc::unavailable, to.text(), "its name is not found in time");
  if (state->ec) co_return broken(to, "looking up its name", state->ec);
  co_return std::move(state->found);
}

asio::awaitable<result<void>> connect(beast::tcp_stream& stream, const endpoint& to,
                                      const found_addresses& addresses, mono_time until) {
  stream.expires_at(on_steady_clock(until));
  const auto [ec, at] = co_await stream.async_connect(addresses, awaitably);
  if (ec) co_return broken(to, "connecting", ec);
  watch_connection(stream.socket());
  co_return result<void>{};
}

/// Whom the certificate has to name.
result<void> expect_host(beast::ssl_stream<beast::tcp_stream>& stream, const endpoint& to) {
  error_code ec;
  asio::ip::make_address(to.host, ec);
  const bool is_name = bool(ec);
  if (is_name && SSL_set_tlsext_host_name(stream.native_handle(), to.host.c_str()) != 1)
    return fail(errc::invalid_argument, to.text(), "its name cannot be asked for in TLS");
  stream.set_verify_mode(asio::ssl::verify_peer);
  stream.set_verify_callback(asio::ssl::host_name_verification(to.host));
  return {};
}

} // namespace

asio::awaitable<result<std::shared_ptr<channel>>>
open_channel(asio::io_context& io, endpoint to, std::shared_ptr<asio::ssl::context> tls,
             mono_time until) {
  auto addresses = co_await look_up(io, to, until);
  if (!addresses) co_return tl::unexpected(std::move(addresses.error()));

  if (!to.tls) {
    auto plain =
        std::make_shared<channel_of<beast::tcp_stream>>(to, nullptr, beast::tcp_stream(io));
    auto connected = co_await connect(plain->stream(), to, *addresses, until);
    if (!connected) co_return tl::unexpected(std::move(connected.error()));
    co_return std::shared_ptr<channel>(std::move(plain));
  }

  using secured = beast::ssl_stream<beast::tcp_stream>;
  auto secure =
      std::make_shared<channel_of<secured>>(to, tls, secured(beast::tcp_stream(io), *tls));
  auto& stream = secure->stream();
  auto named = expect_host(stream, to);
  if (!named) co_return tl::unexpected(std::move(named.error()));
  auto connected = co_await connect(beast::get_lowest_layer(stream), to, *addresses, until);
  if (!connected) co_return tl::unexpected(std::move(connected.error()));
  const auto [ec] = co_await stream.async_handshake(asio::ssl::stream_base::client, awaitably);
  if (ec) co_return broken(to, "TLS handshake", ec);
  co_return std::shared_ptr<channel>(std::move(secure));
}

} // namespace lycosa::coordination
