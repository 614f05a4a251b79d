#include "gateway/server.hpp"

#include "gateway/connection.hpp"
#include "gateway/front.hpp"
#include "gateway/router.hpp"
#include "gateway/xmlrpc.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace lycosa::gateway {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// One thread with the connections it serves; `sessions` is touched on that thread only.
struct io_thread {
  loop_ptr loop = std::make_shared<asio::io_context>(1);
  asio::executor_work_guard<asio::io_context::executor_type> work{loop->get_executor()};
  std::unordered_map<session*, std::shared_ptr<session>> sessions;
  std::thread thread;
};

class tcp_server final : public server {
public:
  tcp_server(const server_config& config, std::shared_ptr<shared_state> shared)
      : shared_(std::move(shared)) {
    shared_->config = config;
    shared_->in_flight = std::make_shared<budget>(config.max_in_flight_bytes);
    auto count = config.threads != 0 ? config.threads : std::thread::hardware_concurrency() / 2;
    for (unsigned i = 0; i < std::max(count, 1U); ++i)
      threads_.push_back(std::make_unique<io_thread>());
    acceptor_ = std::make_unique<tcp::acceptor>(*threads_[0]->loop);
    pause_ = std::make_unique<asio::steady_timer>(*threads_[0]->loop);
  }

  ~tcp_server() override { stop(usec::zero()); }

  result<void> listen() {
    const auto& config = shared_->config;
    if (!config.tls_cert.empty())
      if (auto ok = load_certificate(); !ok) return ok;
    error_code ec;
    const auto address =
        asio::ip::make_address(config.host == "localhost" ? "127.0.0.1" : config.host, ec);
    if (ec) return fail(errc::invalid_argument, config.host, "is no numeric address");
    const tcp::endpoint at(address, config.port);
    const auto name = config.host + ":" + std::to_string(config.port);
    acceptor_->open(at.protocol(), ec);
    if (!ec) acceptor_->set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor_->bind(at, ec);
    if (!ec) acceptor_->listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return fail(errc::io_error, name, "cannot listen: " + ec.message());
    port_ = acceptor_->local_endpoint().port();
    std::signal(SIGPIPE, SIG_IGN); // a client that goes away is an error code, not our end
    accept();
    for (auto& t : threads_)
      t->thread = std::thread([&loop = *t->loop] { run(loop); });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void stop_accepting() override {
    if (shared_->stopping.exchange(true)) return;
    asio::post(*threads_[0]->loop, [this] {
      error_code ignored;
      acceptor_->close(ignored);
      pause_->cancel();
    });
    on_sessions([](session& s) { s.wind_down(); });
  }

  void stop(usec grace) override {
    if (stopped_) return;
    stopped_ = true;
    stop_accepting();
    {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, grace, [this] { return shared_->connections == 0; });
    }
    on_sessions([](session& s) { s.cut(); });
    {
      // What a connection was waiting for ends with its socket. A loop that stopped before would
      // keep the suspended connections, and they the loop.
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, std::chrono::seconds{1}, [this] { return shared_->connections == 0; });
    }
    for (auto& t : threads_) {
      asio::post(*t->loop, [&t] { t->loop->stop(); });
      if (t->thread.joinable()) t->thread.join();
      t->sessions.clear();
    }
  }

private:
  static void run(asio::io_context& loop) {
    for (;;) {
      try {
        loop.run();
        return;
      } catch (const std::exception& e) {
        spdlog::error("http: {}", e.what()); // one request's fault must not end the others
      }
    }
  }

  result<void> load_certificate() {
    const auto& config = shared_->config;
    try {
      tls_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
      tls_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1
                        | asio::ssl::context::no_tlsv1_1);
      tls_->use_certificate_chain_file(config.tls_cert);
      tls_->use_private_key_file(config.tls_key, asio::ssl::context::pem);
    } catch (const std::exception& e) {
      return fail(errc::invalid_argument, config.tls_cert, e.what());
    }
    return {};
  }

  template <class F>
  void on_sessions(F each) {
    for (auto& t : threads_)
      asio::post(*t->loop, [t = t.get(), each] {
        std::vector<std::shared_ptr<session>> all; // `each` may take one out of the map
        for (auto& [_, s] : t->sessions)
          all.push_back(s);
        for (auto& s : all)
          each(*s);
      });
  }

  void accept() {
    auto& next = *threads_[turn_++ % threads_.size()];
    acceptor_->async_accept(*next.loop, [this, &next](error_code ec, tcp::socket socket) {
      if (!acceptor_->is_open()) return;
      if (ec) {
        // Out of descriptors, most likely: connections that end will free some.
        spdlog::warn("http: cannot accept: {}", ec.message());
        pause_->expires_after(std::chrono::milliseconds{100});
        pause_->async_wait([this](error_code) {
          if (acceptor_->is_open()) accept();
        });
        return;
      }
      admit(next, std::move(socket));
      accept();
    });
  }

  void admit(io_thread& to, tcp::socket socket) {
    if (shared_->connections.fetch_add(1) >= shared_->config.max_connections) {
      turn_away(socket);
      shared_->connections.fetch_sub(1);
      return;
    }
    auto held = std::make_shared<tcp::socket>(std::move(socket));
    asio::post(*to.loop, [this, &to, held] {
      auto made = serve(to.loop, std::move(*held), tls_.get(), shared_, [this, &to](session* s) {
        to.sessions.erase(s);
        shared_->connections.fetch_sub(1);
        const std::lock_guard lock(mutex_);
        ended_.notify_all();
      });
      to.sessions.emplace(made.get(), made);
      if (shared_->stopping) made->wind_down();
    });
  }

  void turn_away(tcp::socket& socket) {
    shared_->meters.at(shared_->meters.no_route()).record(503, std::chrono::seconds{0});
    error_code ignored;
    if (!tls_) {
      auto no = problem(503, "too many connections");
      const auto text = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: " + no.content_type
                        + "\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: "
                        + std::to_string(no.body.size()) + "\r\n\r\n" + no.body;
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(text), ignored);
      socket.shutdown(tcp::socket::shutdown_send, ignored);
    }
    socket.close(ignored);
  }

  std::shared_ptr<shared_state> shared_;
  std::vector<std::unique_ptr<io_thread>> threads_;
  std::unique_ptr<asio::ssl::context> tls_;
  std::unique_ptr<tcp::acceptor> acceptor_; ///< on the first thread
  std::unique_ptr<asio::steady_timer> pause_;
  std::size_t turn_ = 0;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool stopped_ = false;
};

} // namespace

namespace {

result<std::unique_ptr<server>> start_with(const server_config& config,
                                           std::shared_ptr<shared_state> shared) {
  auto made = std::make_unique<tcp_server>(config, std::move(shared));
  if (auto ok = made->listen(); !ok) return tl::unexpected<error>(ok.error());
  return made;
}

} // namespace

result<std::unique_ptr<server>> server::start(const server_config& config, actors::node& node) {
  auto shared = std::make_shared<shared_state>(all_routes().size());
  auto where = std::make_shared<service>(service{node, config.limits, config.event_keep_alive,
                                                 config.metrics_projects, config.version, shared});
  shared->handle = [where](request r, const exchange_ptr& x) {
    return route(*where, std::move(r), x);
  };
  return start_with(config, std::move(shared));
}

result<std::unique_ptr<server>>
server::start_xmlrpc(const server_config& config, actors::node& node, std::function<void()> quit) {
  auto where = std::make_shared<xmlrpc_service>(node, config.limits, std::move(quit));
  auto shared = std::make_shared<shared_state>(std::size_t{1});
  shared->handle = [where](request r, const exchange_ptr& x) {
    answer_xmlrpc(*where, std::move(r), x);
    return std::size_t{0};
  };
  return start_with(config, std::move(shared));
}

result<std::unique_ptr<server>> server::start(const server_config& config, front& front) {
  auto shared = std::make_shared<shared_state>(all_routes().size());
  shared->handle = [to = &front](request r, const exchange_ptr& x) {
    const auto place = find_route(r);
    to->handle(front::interface::http, std::move(r), x);
    return place;
  };
  front.counted_by(shared);
  return start_with(config, std::move(shared));
}

result<std::unique_ptr<server>> server::start_xmlrpc(const server_config& config, front& front) {
  auto shared = std::make_shared<shared_state>(std::size_t{1});
  shared->handle = [to = &front](request r, const exchange_ptr& x) {
    to->handle(front::interface::xmlrpc, std::move(r), x);
    return std::size_t{0};
  };
  return start_with(config, std::move(shared));
}

} // namespace lycosa::gateway
