#include "cli/bench/http_load.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <limits>

namespace lycosa::cli::bench {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

class tcp_connection final : public load_connection {
public:
  tcp_connection() : socket_(context_) {}

  result<void> connect(const std::string& host, std::uint16_t port) {
    boost::system::error_code ec;
    const auto address = asio::ip::make_address(host, ec);
    if (ec) return fail(errc::invalid_argument, host, "not a numeric address");
    socket_.connect({address, port}, ec);
    if (ec) return fail(errc::unavailable, host + ":" + std::to_string(port), ec.message());
    socket_.set_option(asio::ip::tcp::no_delay{true}, ec);
    host_ = host;
    return {};
  }

  result<std::string_view> post(std::string_view path, std::string_view body) override {
    return exchange(http::verb::post, path, body);
  }
  result<std::string_view> put(std::string_view path, std::string_view body) override {
    return exchange(http::verb::put, path, body);
  }

private:
  result<std::string_view> exchange(http::verb verb, std::string_view path, std::string_view body) {
    http::request<http::span_body<const char>> request{verb, {path.data(), path.size()}, 11};
    request.set(http::field::host, host_);
    request.set(http::field::content_type, "application/json");
    request.body() = {body.data(), body.size()};
    request.prepare_payload();
    boost::system::error_code ec;
    http::write(socket_, request, ec);
    if (ec) return fail(errc::unavailable, std::string{path}, ec.message());
    http::response_parser<http::string_body> parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    http::read(socket_, buffer_, parser, ec);
    if (ec) return fail(errc::unavailable, std::string{path}, ec.message());
    answer_ = parser.release();
    if (answer_.result_int() / 100 != 2)
      return fail(errc::internal, std::string{path}, answer_.body().substr(0, 300));
    return std::string_view{answer_.body()};
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  beast::flat_buffer buffer_;
  http::response<http::string_body> answer_;
  std::string host_;
};

} // namespace

result<std::unique_ptr<load_connection>> load_connection::open(const std::string& host,
                                                               std::uint16_t port) {
  auto made = std::make_unique<tcp_connection>();
  if (auto ok = made->connect(host, port); !ok) return tl::unexpected(ok.error());
  return made;
}

} // namespace lycosa::cli::bench
