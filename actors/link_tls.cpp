#include "actors/link_tls.hpp"

#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/doorman_impl.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/openssl/session.hpp>
#include <unistd.h>

#include <exception>

namespace lycosa::actors {

namespace {

namespace network = caf::io::network;

/// How a stream moves its bytes.
struct tls_policy {
  explicit tls_policy(caf::openssl::session_ptr s) : session(std::move(s)) {}

  network::rw_state read_some(std::size_t& n, int fd, void* to, std::size_t size) {
    return session->read_some(n, fd, to, size);
  }
  network::rw_state write_some(std::size_t& n, int fd, const void* from, std::size_t size) {
    return session->write_some(n, fd, from, size);
  }
  bool must_read_more(int fd, std::size_t threshold) {
    return session->must_read_more(fd, threshold);
  }

  caf::openssl::session_ptr session;
};

class tls_connection final : public caf::io::scribe {
public:
  tls_connection(network::default_multiplexer& loop, int fd, caf::openssl::session_ptr session)
      : scribe(network::conn_hdl_from_socket(fd)), stream_(loop, fd, std::move(session)) {}

  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (!launched_) launch();
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void flush() override { stream_.flush(this); }
  std::string addr() const override {
    auto x = network::remote_addr_of_fd(stream_.fd());
    return x ? *x : std::string{};
  }
  std::uint16_t port() const override {
    auto x = network::remote_port_of_fd(stream_.fd());
    return x ? *x : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

private:
  void launch() {
    launched_ = true;
    stream_.start(this);
    // The handshake begins with a write, also where there is nothing to be said yet.
    stream_.force_empty_write(this);
  }

  bool launched_ = false;
  network::stream_impl<tls_policy> stream_;
};

network::default_multiplexer& loop_of(caf::actor_system& system) {
  return dynamic_cast<network::default_multiplexer&>(system.middleman().backend());
}

caf::io::scribe_ptr scribe_of(caf::actor_system& system, int fd, bool accepted) {
  try {
    auto session = caf::openssl::make_session(system, fd, accepted);
    if (session == nullptr) return nullptr;
    return caf::make_counted<tls_connection>(loop_of(system), fd, std::move(session));
  } catch (const std::exception&) {
    return nullptr;
  }
}

class tls_acceptor final : public network::doorman_impl {
public:
  using network::doorman_impl::doorman_impl;

  bool new_connection() override {
    if (detached()) return false;
    auto& loop = acceptor_.backend();
    const int fd = acceptor_.accepted_socket();
    auto made = scribe_of(parent()->system(), fd, true);
    if (!made) {
      ::close(fd);
      return true; // the next one may be luckier
    }
    auto handle = made->hdl();
    parent()->add_scribe(std::move(made));
    return doorman::new_connection(&loop, handle);
  }
};

} // namespace

caf::io::scribe_ptr tls_scribe(caf::actor_system& system, int socket) {
  auto made = scribe_of(system, socket, false);
  if (!made) ::close(socket);
  return made;
}

caf::expected<caf::io::doorman_ptr> tls_doorman(caf::actor_system& system, const std::string& host,
                                                std::uint16_t port) {
  auto fd = network::new_tcp_acceptor_impl(port, host.empty() ? nullptr : host.c_str(), true);
  if (!fd) return std::move(fd.error());
  return caf::io::doorman_ptr{caf::make_counted<tls_acceptor>(loop_of(system), *fd)};
}

result<void> check_tls(caf::actor_system& system) {
  try {
    caf::openssl::session probe(system);
    if (probe.init()) return {};
  } catch (const std::exception& e) {
    return fail(errc::io_error, "cluster TLS", e.what());
  }
  return fail(errc::io_error, "cluster TLS", "the certificate, key or authority cannot be used");
}

} // namespace lycosa::actors
