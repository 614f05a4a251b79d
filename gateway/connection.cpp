#include "gateway/connection.hpp"

#include "gateway/content_encoding.hpp"
#include "gateway/deadline.hpp"
#include "gateway/origin.hpp"
#include "gateway/pending.hpp"
#include "gateway/response_head.hpp"
#include "gateway/trace_context.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cerrno>

namespace lycosa::gateway {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr auto awaitably = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t read_ahead = 64 * 1024;
constexpr std::size_t slice = 256 * 1024;  ///< written between looks at the clock
constexpr std::size_t slowest = 64 * 1024; ///< bytes a second a client must move

template <class Stream>
class connection final : public session, public std::enable_shared_from_this<connection<Stream>> {
public:
  connection(loop_ptr loop, Stream stream, std::shared_ptr<shared_state> shared,
             std::function<void(session*)> ended)
      : loop_(std::move(loop)), stream_(std::move(stream)), shared_(std::move(shared)),
        ended_(std::move(ended)), buffer_(shared_->config.max_header + read_ahead),
        event_(*loop_, clock::time_point::max()) {}

  void start() {
    deadline_ = std::make_shared<deadline>(*loop_, [weak = this->weak_from_this()] {
      if (auto self = weak.lock()) self->cut();
    });
    auto self = this->shared_from_this();
    asio::co_spawn(
        *loop_, [self] { return self->run(); }, asio::detached);
  }

  void wind_down() override {
    // A stream ends between two parts; one whose client does not read never gets there.
    if (idle_ || (live_ && !resting_)) return cut();
    if (live_) notify();
    if (pending_ && pending_->cancel && !pending_->ready) {
      abandon_wait(std::move(pending_->instead));
      notify();
    }
  }

  void cut() override {
    error_code ignored;
    socket().close(ignored);
    deadline_->cancel();
    notify();
  }

private:
  using parser_type = http::request_parser<http::buffer_body>;

  tcp::socket& socket() {
    if constexpr (std::is_same_v<Stream, tcp::socket>)
      return stream_;
    else
      return stream_.next_layer();
  }

  /// For moving bytes: later the more have been moved.
  void set_progress(clock::time_point start, std::size_t bytes) {
    deadline_->set(start + shared_->config.body_timeout
                   + std::chrono::milliseconds{bytes / (slowest / 1000)});
  }

  void notify() { event_.cancel(); }
  asio::awaitable<void> wait_event() {
    event_.expires_at(clock::time_point::max());
    co_await event_.async_wait(awaitably);
  }

  // -- the life of a connection ----------------------------------------------------------------

  asio::awaitable<void> run() {
    auto self = this->shared_from_this();
    try {
      if (co_await handshake())
        while (co_await one_request()) {
        }
      co_await say_goodbye();
    } catch (const std::exception& e) {
      spdlog::error("http: connection ended: {}", e.what());
    }
    if (pending_) pending_->abandoned = true;
    cut();
    ended_(this);
  }

  asio::awaitable<bool> handshake() {
    error_code ignored;
    socket().set_option(tcp::no_delay{true}, ignored);
    if constexpr (!std::is_same_v<Stream, tcp::socket>) {
      deadline_->set_in(shared_->config.header_timeout);
      auto [ec] = co_await stream_.async_handshake(asio::ssl::stream_base::server, awaitably);
      co_return !ec;
    }
    co_return true;
  }

  /// The answer was written and its end announced; waits for the client to close too, so that it
  /// is not cut off from the answer by data of its own that was still on the way.
  asio::awaitable<void> say_goodbye() {
    if (!socket().is_open() || !linger_) co_return;
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    deadline_->set_in(std::min<usec>(shared_->config.body_timeout, std::chrono::seconds{10}));
    while (reading_)
      co_await wait_event();
    auto left = 2 * shared_->config.max_body + slice;
    std::array<char, 16 * 1024> drain{};
    while (!read_error_ && left > 0) {
      auto [ec, n] = co_await socket().async_read_some(asio::buffer(drain), awaitably);
      read_error_ = ec;
      left -= std::min(left, n);
    }
    take_back_if_reset();
  }

  /// The client's system says it will never read what it was sent last.
  void take_back_if_reset() {
    if (undelivered_ && (read_error_ == asio::error::connection_reset || was_refused()))
      undelivered_();
    undelivered_ = nullptr;
  }

  /// Of a client that had closed before it was written to, reads tell the end and not the reset.
  bool was_refused() {
    int e = 0;
    socklen_t size = sizeof e;
    const int rc = ::getsockopt(socket().native_handle(), SOL_SOCKET, SO_ERROR, &e, &size);
    return rc == 0 && (e == EPIPE || e == ECONNRESET);
  }

  asio::awaitable<bool> first_byte() {
    if (buffer_.size() == 0 && !reading_ && buffer_.capacity() > 16 * 1024) buffer_.shrink_to_fit();
    while (buffer_.size() == 0) {
      if (read_error_) break;
      if (shared_->stopping) co_return false;
      idle_ = true;
      deadline_->set_in(shared_->config.idle_timeout);
      if (!reading_) {
        auto [ec, n] = co_await stream_.async_read_some(buffer_.prepare(4096), awaitably);
        buffer_.commit(n);
        read_error_ = ec;
      } else {
        co_await wait_event();
        if (!socket().is_open()) read_error_ = asio::error::operation_aborted;
      }
      idle_ = false;
    }
    if (buffer_.size() == 0) take_back_if_reset();
    undelivered_ = nullptr;
    co_return buffer_.size() > 0;
  }

  /// Serves one request. False: the connection ends.
  asio::awaitable<bool> one_request() {
    if (!co_await first_byte()) co_return false;
    while (reading_)
      co_await wait_event();
    deadline_->set_in(shared_->config.header_timeout);
    parser_type parser;
    parser.header_limit(static_cast<std::uint32_t>(shared_->config.max_header));
    parser.body_limit(shared_->config.max_body);
    auto [ec, n] = co_await http::async_read_header(stream_, buffer_, parser, awaitably);
    if (ec) co_return co_await refuse_header(ec);

    const auto& head = parser.get();
    request r;
    r.method = std::string{head.method_string()};
    const bool is_head = r.method == "HEAD";
    if (is_head) r.method = "GET";
    keep_ = head.keep_alive();
    chunks_ = head.version() >= 11;
    if (!parse_target(head.target(), r))
      co_return co_await refuse(problem(400, "the request's address is malformed"));
    if (is_cross_site(
            {r.method, head[http::field::host], head[http::field::origin], head["Sec-Fetch-Site"]}))
      co_return co_await refuse(problem(403, "a page of another site asks for this"));
    r.content_type = std::string{head[http::field::content_type]};
    r.accept = std::string{head[http::field::accept]};
    r.accept_encoding = std::string{head[http::field::accept_encoding]};
    r.if_none_match = std::string{head[http::field::if_none_match]};
    r.last_event_id = std::string{head["Last-Event-ID"]};
    if (auto no = co_await read_body(parser, *r.body)) co_return co_await refuse(std::move(*no));
    deadline_->lift();
    if (spdlog::should_log(spdlog::level::debug)) log_request(r, head["traceparent"]);

    const auto asked = clock::now();
    auto answer = co_await ask(std::move(r));
    if (!answer) co_return false;
    shared_->meters.at(route_).record(answer->status, clock::now() - asked);
    if (shared_->stopping) keep_ = false;
    auto undelivered = std::move(answer->undelivered);
    if (!co_await write(*answer, is_head)) {
      if (undelivered) undelivered();
      linger_ = false;
      co_return false;
    }
    undelivered_ = std::move(undelivered);
    linger_ = !keep_;
    co_return keep_;
  }

  /// With the trace it is part of, if it is of one.
  static void log_request(const request& r, std::string_view traceparent) {
    const auto trace = trace_id(traceparent);
    spdlog::debug("http: {} {} {} bytes{}{}", r.method, r.path, r.body->text.size(),
                  trace.empty() ? "" : " trace ", trace);
  }

  asio::awaitable<bool> refuse_header(error_code ec) {
    if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
      co_return co_await refuse(problem(431, "the request's header is too large"));
    if (ec == http::error::body_limit) co_return co_await refuse(too_large());
    if (ec.category() == make_error_code(http::error::bad_method).category()
        && ec != http::error::end_of_stream && ec != http::error::partial_message)
      co_return co_await refuse(problem(400, "not HTTP: " + ec.message()));
    co_return false;
  }

  /// Answers without having read the request to its end: the connection cannot go on.
  asio::awaitable<bool> refuse(response r) {
    shared_->meters.at(shared_->meters.no_route()).record(r.status, std::chrono::seconds{0});
    keep_ = false;
    linger_ = co_await write(r, false);
    co_return false;
  }

  response too_large() const {
    return problem(413, "the body is larger than " + std::to_string(shared_->config.max_body)
                            + " bytes");
  }

  static response too_busy() {
    return problem(429, "too many bytes of requests are being worked on");
  }

  asio::awaitable<std::optional<response>> read_body(parser_type& parser, request_body& body) {
    const auto length = parser.content_length();
    body.share = budget_share(shared_->in_flight);
    // Only what arrives takes from the budget: an announcement costs its sender nothing. One that
    // has no chance at the moment is told before it sends.
    if (length && !body.share.has_room(*length)) co_return too_busy();
    if (beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done()) {
      auto [ec, n] = co_await asio::async_write(
          stream_, asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), awaitably);
      if (ec) co_return problem(400, "gone");
    }
    auto& text = body.text;
    // Not one expression: gcc 12 destroys the operands of `c ? co_await a : co_await b` twice.
    std::optional<response> failed;
    if (length)
      failed = co_await read_plain(text, *length, body.share);
    else
      failed = co_await read_chunks(parser, text, body.share);
    if (failed) co_return failed;
    const auto encoding = parser.get()[http::field::content_encoding];
    if (encoding.empty()) co_return std::nullopt;
    auto plain = decode_body(encoding, std::move(text), shared_->config.max_body, body.share);
    if (!plain && plain.error().what == "content-encoding")
      co_return problem(415, plain.error().text());
    if (!plain) co_return problem(plain.error());
    text = std::move(*plain);
    co_return std::nullopt;
  }

  /// A body of a known length: straight into its place, in pieces as large as the kernel has them.
  asio::awaitable<std::optional<response>> read_plain(std::string& text, std::size_t length,
                                                      budget_share& share) {
    const auto start = clock::now();
    auto filled = std::min(buffer_.size(), length);
    if (!share.cover(filled)) co_return too_busy();
    text.assign(static_cast<const char*>(buffer_.data().data()), filled);
    buffer_.consume(filled);
    while (filled < length) {
      // Memory follows what has arrived, here or at the kernel, not what was announced.
      if (filled == text.size()) {
        error_code ignored;
        const auto arrived = filled + socket().available(ignored);
        const auto size = std::min(std::max({filled * 2, arrived, budget_share::free}), length);
        if (!share.cover(size)) co_return too_busy();
        text.resize(size);
      }
      set_progress(start, filled);
      auto [ec, n] = co_await stream_.async_read_some(
          asio::buffer(text.data() + filled, text.size() - filled), awaitably);
      filled += n;
      if (ec) co_return problem(400, "the body is malformed: " + ec.message());
    }
    co_return std::nullopt;
  }

  asio::awaitable<std::optional<response>> read_chunks(parser_type& parser, std::string& text,
                                                       budget_share& share) {
    const auto start = clock::now();
    std::size_t filled = 0;
    while (!parser.is_done()) {
      if (filled == text.size()) {
        // Memory follows what has arrived, not what was announced.
        const auto size = std::max(text.size() * 2, budget_share::free);
        if (!share.cover(size)) co_return too_busy();
        text.resize(size);
      }
      auto& part = parser.get().body();
      part.data = text.data() + filled;
      part.size = text.size() - filled;
      part.more = true;
      set_progress(start, filled);
      auto [ec, n] = co_await http::async_read_some(stream_, buffer_, parser, awaitably);
      filled = text.size() - part.size;
      if (ec == http::error::need_buffer) continue;
      if (ec == http::error::body_limit) co_return too_large();
      if (ec) co_return problem(400, "the body is malformed: " + ec.message());
    }
    text.resize(filled);
    co_return std::nullopt;
  }

  // -- asking the handlers ---------------------------------------------------------------------

  /// None: the client has gone.
  asio::awaitable<std::optional<response>> ask(request r) {
    pending_ = std::make_shared<pending>();
    pending_->wake = [weak = this->weak_from_this()] {
      if (auto self = weak.lock()) self->notify();
    };
    route_ = shared_->handle(std::move(r), std::make_shared<pending_exchange>(loop_, pending_));
    if (shared_->stopping && pending_->cancel && !pending_->ready)
      abandon_wait(std::move(pending_->instead));
    while (!pending_->ready) {
      if (pending_->cancel && !reading_ && !read_error_ && buffer_.size() < read_ahead)
        watch_client();
      co_await wait_event();
      if (!socket().is_open() || (read_error_ && pending_->cancel)) {
        if (pending_->ready) break;
        abandon_wait(std::nullopt);
        pending_ = nullptr;
        co_return std::nullopt;
      }
    }
    auto answer = std::move(pending_->ready);
    const bool waited = static_cast<bool>(pending_->cancel);
    pending_ = nullptr;
    if (waited && answer->undelivered && has_left()) {
      answer->undelivered();
      co_return std::nullopt;
    }
    co_return answer;
  }

  /// The client has closed, though the read that tells may not have come to its turn. What is
  /// written to it now would be taken without an error, and be read by nobody.
  bool has_left() {
    if (read_error_ || !socket().is_open()) return true;
    char next = 0;
    return ::recv(socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  /// The answer of the node is not waited for any more.
  void abandon_wait(std::optional<response> instead) {
    auto cancel = std::move(pending_->cancel);
    pending_->abandoned = true;
    pending_->wake = nullptr;
    auto replaced = std::make_shared<pending>();
    replaced->ready = std::move(instead);
    pending_ = std::move(replaced);
    if (cancel) cancel();
  }

  /// Reads on while the client waits: only so does its leaving show. What it sends is kept.
  void watch_client() {
    reading_ = true;
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = this->shared_from_this()](error_code ec, std::size_t n) {
                              self->reading_ = false;
                              self->buffer_.commit(n);
                              self->read_error_ = ec;
                              self->notify();
                            });
  }

  // -- writing ---------------------------------------------------------------------------------

  asio::awaitable<bool> write(response& r, bool head_only) {
    const bool parts = static_cast<bool>(r.next_part) || r.live;
    if (parts && !chunks_) keep_ = false;
    auto head = response_head(r, {keep_, chunks_, parts});
    const auto start = clock::now();
    std::size_t done = 0;
    if (head_only) co_return co_await write_all(head, start, done);
    if (r.live) co_return co_await write_live(*r.live, std::move(head));
    if (parts) co_return co_await write_parts(r, std::move(head), start);
    if (r.body.size() < short_body) {
      head += r.body;
      co_return co_await write_all(head, start, done);
    }
    co_return co_await write_all(head, start, done) && co_await write_all(r.body, start, done);
  }

  asio::awaitable<bool> write_all(std::string_view text, clock::time_point start,
                                  std::size_t& done) {
    while (!text.empty()) {
      set_progress(start, done);
      auto [ec, n] = co_await asio::async_write(
          stream_, asio::buffer(text.data(), std::min(text.size(), slice)), awaitably);
      if (ec) co_return false;
      text.remove_prefix(n);
      done += n;
    }
    deadline_->lift();
    co_return true;
  }

  /// Goes on until the client, the server or the body ends it. A client may take any time to read:
  /// it costs no more than its connection.
  asio::awaitable<bool> write_live(live_body& body, std::string out) {
    live_ = true;
    const bool whole = co_await write_live_parts(body, std::move(out));
    live_ = false;
    co_return whole;
  }

  asio::awaitable<bool> write_live_parts(live_body& body, std::string out) {
    while (true) {
      const auto [ec, n] = co_await asio::async_write(stream_, asio::buffer(out), awaitably);
      if (ec) co_return false;
      out.clear();
      const auto patience = clock::now() + body.keep_alive_after;
      auto part = body.take();
      while (part && part->empty() && !shared_->stopping) {
        if (clock::now() >= patience) {
          part = body.keep_alive;
          break;
        }
        body.wait([loop = loop_, weak = this->weak_from_this()] {
          asio::post(loop->get_executor(), [weak] {
            if (auto self = weak.lock()) self->notify();
          });
        });
        if (!reading_ && !read_error_ && buffer_.size() < read_ahead) watch_client();
        resting_ = true;
        event_.expires_at(patience);
        co_await event_.async_wait(awaitably);
        resting_ = false;
        if (!socket().is_open() || read_error_) co_return false;
        part = body.take();
      }
      if (!part || shared_->stopping) break;
      append_part(out, *part, chunks_);
    }
    if (shared_->stopping) keep_ = false;
    if (!chunks_) co_return true;
    const auto [ec, n] = co_await asio::async_write(stream_, asio::buffer(last_chunk), awaitably);
    co_return !ec && !shared_->stopping; // nothing is owed: no goodbye to wait for
  }

  asio::awaitable<bool> write_parts(response& r, std::string head, clock::time_point start) {
    std::size_t done = 0;
    auto part = std::move(r.body);
    std::string out = std::move(head);
    for (;;) {
      if (!part.empty()) {
        append_part(out, part, chunks_);
        if (!co_await write_all(out, start, done)) co_return false;
        out.clear();
      }
      auto next = std::make_shared<std::optional<result<std::string>>>();
      r.next_part([next, loop = loop_, weak = this->weak_from_this()](result<std::string> got) {
        asio::dispatch(loop->get_executor(), [next, weak, got = std::move(got)]() mutable {
          *next = std::move(got);
          if (auto self = weak.lock()) self->notify();
        });
      });
      while (!*next) {
        co_await wait_event();
        if (!socket().is_open()) co_return false;
      }
      if (!**next) co_return false;
      part = std::move(***next);
      if (part.empty()) break;
    }
    if (chunks_) out += last_chunk;
    co_return co_await write_all(out, start, done);
  }

  loop_ptr loop_;
  Stream stream_;
  std::shared_ptr<shared_state> shared_;
  std::function<void(session*)> ended_;
  beast::flat_buffer buffer_;
  asio::steady_timer event_;           ///< cancelled to say that something has changed
  std::shared_ptr<deadline> deadline_; ///< of what the client has to do next
  bool idle_ = false;                  ///< no request is being read or answered
  bool keep_ = true;                   ///< the connection goes on after the answer
  bool chunks_ = true;                 ///< the client understands chunks
  bool linger_ = false;                ///< an answer was written that ends the connection
  bool reading_ = false;               ///< watch_client's read is open
  bool live_ = false;                  ///< a body without an end is being written
  bool resting_ = false;               ///< and there is nothing to write
  error_code read_error_;
  std::shared_ptr<pending> pending_;
  std::size_t route_ = 0;             ///< of the request that is being answered
  std::function<void()> undelivered_; ///< of the last answer, until the client is heard again
};

} // namespace

std::shared_ptr<session> serve(loop_ptr loop, tcp::socket socket, asio::ssl::context* tls,
                               std::shared_ptr<shared_state> shared,
                               std::function<void(session*)> ended) {
  if (tls == nullptr) {
    auto made = std::make_shared<connection<tcp::socket>>(loop, std::move(socket),
                                                          std::move(shared), std::move(ended));
    made->start();
    return made;
  }
  using stream = asio::ssl::stream<tcp::socket>;
  auto made = std::make_shared<connection<stream>>(loop, stream(std::move(socket), *tls),
                                                   std::move(shared), std::move(ended));
  made->start();
  return made;
}

} // namespace lycosa::gateway
