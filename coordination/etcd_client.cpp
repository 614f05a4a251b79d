#include "coordination/etcd_client.hpp"

#include "coordination/etcd_answer.hpp"
#include "coordination/json_fields.hpp"
#include "coordination/time.hpp"
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace lycosa::coordination {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::json;

constexpr unsigned most_running = 8;
constexpr auto awaitably = asio::as_tuple(asio::use_awaitable);

result<std::shared_ptr<asio::ssl::context>> make_tls(const client_config& c) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code ec;
  const auto failed = [&](const char* what, const std::string& file) {
    return fail(errc::invalid_argument, what, file + ": " + ec.message());
  };
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv3
                   | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  if (c.ca.empty())
    tls->set_default_verify_paths(ec);
  else
    tls->load_verify_file(c.ca, ec);
  if (ec) return failed("coordination CA certificates", c.ca);
  if (c.cert.empty() != c.key.empty())
    return fail(errc::invalid_argument, "coordination certificate",
                "certificate and key go together");
  if (!c.cert.empty()) {
    tls->use_certificate_chain_file(c.cert, ec);
    if (ec) return failed("coordination certificate", c.cert);
    tls->use_private_key_file(c.key, asio::ssl::context::pem, ec);
    if (ec) return failed("coordination key", c.key);
  }
  return tls;
}

/// Notes in a set that something goes on, for as long as it does.
class entry {
public:
  entry(std::set<channel*>& set, channel* what) : set_(set), what_(what) { set_.insert(what_); }
  ~entry() { set_.erase(what_); }
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;

private:
  std::set<channel*>& set_;
  channel* what_;
};

} // namespace

/// Why an attempt did not come off, and whether another endpoint may do better.
struct etcd_client::trouble {
  error why;
  bool elsewhere = false;
  bool token = false; ///< it was not taken
};

class etcd_client::stream_of final : public answer_stream {
public:
  stream_of(etcd_client& client, std::size_t at, std::shared_ptr<channel> on)
      : client_(client), at_(at), on_(std::move(on)), noted_(client.streams_, on_.get()) {}
  ~stream_of() override { on_->close(); }

  awaitable<result<json>> next() override {
    auto line = co_await on_->next_line();
    if (!line) co_return tl::unexpected(std::move(line.error()));
    http_answer answer;
    answer.status = 200;
    answer.body = std::move(*line);
    auto understood = client_.understand(at_, answer);
    if (!understood) co_return tl::unexpected(std::move(understood.error().why));
    co_return std::move(*understood);
  }

private:
  etcd_client& client_;
  std::size_t at_;
  std::shared_ptr<channel> on_;
  entry noted_;
};

result<std::unique_ptr<etcd_client>> etcd_client::make(asio::io_context& io, client_config config) {
  if (config.endpoints.empty())
    return fail(errc::invalid_argument, "coordination endpoints", "there are none");
  std::vector<endpoint> endpoints;
  bool secure = false;
  for (const auto& text : config.endpoints) {
    auto e = parse_endpoint(text);
    if (!e) return tl::unexpected(std::move(e.error()));
    secure = secure || e->tls;
    endpoints.push_back(std::move(*e));
  }
  std::shared_ptr<asio::ssl::context> tls;
  if (secure) {
    auto made = make_tls(config);
    if (!made) return tl::unexpected(std::move(made.error()));
    tls = std::move(*made);
  }
  return std::unique_ptr<etcd_client>(
      new etcd_client(io, std::move(config), std::move(endpoints), std::move(tls)));
}

etcd_client::etcd_client(asio::io_context& io, client_config config,
                         std::vector<endpoint> endpoints, std::shared_ptr<asio::ssl::context> tls)
    : io_(io), config_(std::move(config)), endpoints_(std::move(endpoints)), tls_(std::move(tls)) {}

etcd_client::~etcd_client() = default;

void etcd_client::close() {
  closed_ = true;
  idle_.clear();
  for (auto* c : streams_)
    c->close();
  for (auto* c : busy_)
    c->close();
  for (auto* w : waiting_)
    w->cancel();
}

awaitable<result<json>> etcd_client::call(std::string path, json body, call_options options) {
  const auto timeout = options.timeout.count() > 0 ? options.timeout : config_.timeout;
  const auto until = now() + timeout;
  const auto text = dump(body);
  if (options.urgent) co_return co_await call_now(path, text, until);

  const bool mine = co_await wait_for_turn(until);
  if (!mine) co_return fail(errc::unavailable, "etcd", "too many requests wait for an answer");
  struct turn {
    etcd_client& client;
    ~turn() { client.turn_over(); }
  } const over{*this};
  co_return co_await call_now(path, text, until);
}

/// At most so many calls at once, the others in the order they come. False = not in time.
awaitable<bool> etcd_client::wait_for_turn(time_limit until) {
  if (running_ < most_running) {
    ++running_;
    co_return true;
  }
  asio::steady_timer wake(io_, on_steady_clock(until));
  waiting_.push_back(&wake);
  co_await wake.async_wait(awaitably);
  // Whoever passes its turn on takes the waiting one out, and `running_` stays as it is.
  co_return std::erase(waiting_, &wake) == 0;
}

void etcd_client::turn_over() {
  if (waiting_.empty()) {
    --running_;
    return;
  }
  waiting_.front()->cancel();
  waiting_.pop_front();
}

awaitable<result<json>> etcd_client::call_now(const std::string& path, const std::string& body,
                                              time_limit until) {
  error last{errc::unavailable, "etcd", "closed"};
  // An endpoint that is silent leaves time for those that are still to be tried.
  for (auto left = static_cast<std::int64_t>(endpoints_.size()); left > 0 && !closed_; --left) {
    const auto at = current_;
    const auto now_is = now();
    if (now_is >= until) break;
    const auto share = now_is + (until - now_is) / left;
    auto answer = co_await attempt(at, path, body, share);
    if (answer) co_return std::move(*answer);
    last = std::move(answer.error().why);
    if (!answer.error().elsewhere) break;
    turn_from(at, last);
  }
  co_return tl::unexpected(std::move(last));
}

awaitable<result<std::unique_ptr<answer_stream>>> etcd_client::stream(std::string path, json body) {
  const auto text = dump(body);
  const auto at = current_;
  if (closed_) co_return fail(errc::unavailable, "etcd", "closed");
  auto on = co_await attempt_stream(at, path, text, now() + config_.timeout);
  if (!on) {
    if (on.error().elsewhere) turn_from(at, on.error().why);
    co_return tl::unexpected(std::move(on.error().why));
  }
  if (closed_ || at != current_)
    co_return fail(errc::unavailable, endpoints_[at].text(), "it has been turned from");
  co_return std::make_unique<stream_of>(*this, at, std::move(*on));
}

void etcd_client::turn_from(std::size_t at, const error& why) {
  if (closed_ || at != current_) return; // others have noticed already
  current_ = (at + 1) % endpoints_.size();
  ++turns_;
  idle_.clear();
  for (auto* c : streams_)
    c->close();
  if (current_ != at) spdlog::info("etcd: {}; asking {}", why.text(), endpoints_[current_].text());
}

awaitable<etcd_client::attempt_result<json>> etcd_client::attempt(std::size_t at,
                                                                  const std::string& path,
                                                                  const std::string& body,
                                                                  time_limit until) {
  for (bool again = false;; again = true) {
    auto in = co_await log_in(at, until);
    if (!in) co_return tl::unexpected(std::move(in.error()));
    http_request request{path, body, token_};
    const auto used = token_;
    auto answer = co_await exchange(at, std::move(request), until);
    if (!answer) co_return tl::unexpected(trouble{std::move(answer.error()), true, false});
    auto understood = understand(at, *answer);
    if (understood || !understood.error().token || again || config_.user.empty())
      co_return std::move(understood);
    // It has run out, or what users may do has changed.
    without_login_ = false;
    if (token_ == used) token_.clear();
  }
}

awaitable<etcd_client::attempt_result<std::shared_ptr<channel>>>
etcd_client::attempt_stream(std::size_t at, const std::string& path, const std::string& body,
                            time_limit until) {
  for (bool again = false;; again = true) {
    auto in = co_await log_in(at, until);
    if (!in) co_return tl::unexpected(std::move(in.error()));
    auto opened = co_await open_channel(io_, endpoints_[at], tls_, until);
    if (!opened) co_return tl::unexpected(trouble{std::move(opened.error()), true, false});
    auto on = std::move(*opened);
    const entry noted(busy_, on.get());
    const http_request request{path, body, token_};
    auto head = co_await on->begin(request, until);
    if (!head) co_return tl::unexpected(trouble{std::move(head.error()), true, false});
    if (head->status == 200) co_return on;
    auto understood = understand(at, *head);
    if (understood)
      co_return tl::unexpected(trouble{
          {errc::incompatible, endpoints_[at].text(), "does not stream its answer"}, true, false});
    if (!understood.error().token || again || config_.user.empty())
      co_return tl::unexpected(std::move(understood.error()));
    without_login_ = false;
    if (token_ == request.token) token_.clear();
  }
}

/// One request on a connection that is open already, or on a new one.
awaitable<result<http_answer>> etcd_client::exchange(std::size_t at, http_request request,
                                                     time_limit until) {
  const auto turns = turns_;
  if (at == current_ && !idle_.empty()) {
    auto on = std::move(idle_.back());
    idle_.pop_back();
    const entry noted(busy_, on.get());
    auto answer = co_await on->post(request, until);
    if (answer) {
      if (answer->reusable && !closed_ && turns == turns_) idle_.push_back(std::move(on));
      co_return answer;
    }
    if (now() >= until || closed_) co_return answer;
    idle_.clear(); // the server has closed it while nobody looked, and so the others
  }
  auto opened = co_await open_channel(io_, endpoints_[at], tls_, until);
  if (!opened) co_return tl::unexpected(std::move(opened.error()));
  auto on = std::move(*opened);
  const entry noted(busy_, on.get());
  auto answer = co_await on->post(request, until);
  if (answer && answer->reusable && !closed_ && turns == turns_) idle_.push_back(std::move(on));
  co_return answer;
}

awaitable<etcd_client::attempt_result<void>> etcd_client::log_in(std::size_t at, time_limit until) {
  if (config_.user.empty() || !token_.empty() || without_login_) co_return attempt_result<void>{};
  const json credentials{{"name", config_.user}, {"password", config_.password}};
  http_request request{"/v3/auth/authenticate", dump(credentials), ""};
  auto answer = co_await exchange(at, std::move(request), until);
  if (!answer) co_return tl::unexpected(trouble{std::move(answer.error()), true, false});
  auto understood = understand(at, *answer);
  if (!understood) {
    if (understood.error().why.why.find("authentication is not enabled") == std::string::npos)
      co_return tl::unexpected(std::move(understood.error()));
    spdlog::warn("etcd: {} has no users; continuing without user and password",
                 endpoints_[at].text());
    without_login_ = true;
    co_return attempt_result<void>{};
  }
  const auto* token = text_field(*understood, "token");
  if (!token || token->empty() || token->find_first_of("\r\n") != std::string::npos)
    co_return tl::unexpected(
        trouble{{errc::incompatible, endpoints_[at].text(), "gives no token"}, true, false});
  token_ = *token;
  co_return attempt_result<void>{};
}

etcd_client::attempt_result<json> etcd_client::understand(std::size_t at,
                                                          const http_answer& answer) const {
  auto read = read_answer(answer.status, answer.body);
  if (read) return std::move(*read);
  auto& failure = read.error();
  return tl::unexpected(trouble{{failure.code, endpoints_[at].text(), std::move(failure.why)},
                                failure.elsewhere,
                                failure.token});
}

} // namespace lycosa::coordination
