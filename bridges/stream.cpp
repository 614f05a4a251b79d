#include "bridges/stream.hpp"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace lycosa::bridges {

namespace {

using steady = std::chrono::steady_clock;

tl::unexpected<error> lost(std::string why) {
  return fail(errc::unavailable, "redis", std::move(why));
}

std::string system_text(int code) {
  return std::error_code(code, std::generic_category()).message();
}

/// Closes itself.
class owned_fd {
public:
  explicit owned_fd(int fd = -1) : fd_(fd) {}
  owned_fd(owned_fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  owned_fd& operator=(owned_fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~owned_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

private:
  int fd_;
};

/// Waits for `events` on `fd`.
result<void> await(int fd, short events, const stop_signal& stop,
                   std::optional<steady::time_point> until) {
  for (;;) {
    int ms = -1;
    if (until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - steady::now());
      if (left.count() <= 0) return lost("no answer in time");
      ms = static_cast<int>(std::min<std::int64_t>(left.count(), 1 << 30));
    }
    std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{stop.fd(), POLLIN, 0}};
    const int n = ::poll(fds.data(), fds.size(), ms);
    if (n < 0 && errno != EINTR) return lost(system_text(errno));
    if (fds[1].revents != 0) return lost("stopped");
    if (n > 0 && fds[0].revents != 0) return {};
  }
}

std::optional<steady::time_point> deadline(usec timeout) {
  if (timeout <= usec::zero()) return std::nullopt;
  return steady::now() + timeout;
}

result<owned_fd> connect_to(const sockaddr* address, socklen_t size, int family,
                            const stop_signal& stop, usec timeout) {
  owned_fd fd{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (fd.get() < 0) return lost(system_text(errno));
  if (::connect(fd.get(), address, size) != 0 && errno != EINPROGRESS)
    return lost(system_text(errno));
  if (auto ready = await(fd.get(), POLLOUT, stop, deadline(timeout)); !ready)
    return tl::unexpected(ready.error());
  int code = 0;
  socklen_t length = sizeof code;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &length);
  if (code != 0) return lost(system_text(code));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return fd;
}

result<owned_fd> dial(const redis_address& to, const stop_signal& stop, usec timeout) {
  if (!to.unix_socket.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (to.unix_socket.size() >= sizeof address.sun_path)
      return lost("the socket's path is too long");
    std::memcpy(address.sun_path, to.unix_socket.c_str(), to.unix_socket.size());
    return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof address, AF_UNIX, stop,
                      timeout);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto port = std::to_string(to.port);
  if (const int rc = ::getaddrinfo(to.host.c_str(), port.c_str(), &hints, &found); rc != 0)
    return lost(to.host + ": " + ::gai_strerror(rc));
  result<owned_fd> last = lost(to.host + ": no address");
  for (const auto* a = found; a != nullptr; a = a->ai_next) {
    last = connect_to(a->ai_addr, a->ai_addrlen, a->ai_family, stop, timeout);
    if (last) break;
  }
  ::freeaddrinfo(found);
  return last;
}

class plain_stream final : public stream {
public:
  plain_stream(owned_fd fd, const stop_signal& stop) : fd_(std::move(fd)), stop_(stop) {}

  result<void> write(std::string_view bytes, usec timeout) override {
    const auto until = deadline(timeout);
    while (!bytes.empty()) {
      const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN || errno == EINTR) {
        if (auto ready = await(fd_.get(), POLLOUT, stop_, until); !ready) return ready;
      } else {
        return lost(system_text(errno));
      }
    }
    return {};
  }

  result<std::size_t> read(char* to, std::size_t size, usec timeout) override {
    const auto until = deadline(timeout);
    for (;;) {
      const auto n = ::recv(fd_.get(), to, size, 0);
      if (n > 0) return static_cast<std::size_t>(n);
      if (n == 0) return lost("the server has closed the connection");
      if (errno != EAGAIN && errno != EINTR) return lost(system_text(errno));
      if (auto ready = await(fd_.get(), POLLIN, stop_, until); !ready)
        return tl::unexpected(ready.error());
    }
  }

private:
  owned_fd fd_;
  const stop_signal& stop_;
};

struct ssl_deleter {
  void operator()(SSL* s) const { SSL_free(s); }
  void operator()(SSL_CTX* c) const { SSL_CTX_free(c); }
};

std::string tls_text(SSL* ssl) {
  if (ssl != nullptr)
    if (const auto verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
      return std::string{"its certificate: "} + X509_verify_cert_error_string(verdict);
  std::array<char, 256> text{};
  const auto code = ERR_get_error();
  if (code == 0) return "the TLS connection has ended";
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

class tls_stream final : public stream {
public:
  tls_stream(owned_fd fd, const stop_signal& stop) : fd_(std::move(fd)), stop_(stop) {}

  result<void> shake_hands(const redis_address& to, usec timeout) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) return lost(tls_text(nullptr));
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    const int loaded =
        to.ca_file.empty()
            ? SSL_CTX_set_default_verify_paths(context_.get())
            : SSL_CTX_load_verify_locations(context_.get(), to.ca_file.c_str(), nullptr);
    if (loaded != 1) return lost(to.ca_file + ": " + tls_text(nullptr));
    if (to.verify) SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    if (!ssl_) return lost(tls_text(nullptr));
    SSL_set_fd(ssl_.get(), fd_.get());
    SSL_set_tlsext_host_name(ssl_.get(), to.host.c_str());
    if (to.verify) {
      auto* param = SSL_get0_param(ssl_.get());
      if (X509_VERIFY_PARAM_set1_ip_asc(param, to.host.c_str()) != 1)
        SSL_set1_host(ssl_.get(), to.host.c_str());
    }
    const auto done = run(timeout, [&] { return SSL_connect(ssl_.get()); });
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  result<void> write(std::string_view bytes, usec timeout) override {
    if (bytes.empty()) return {};
    const auto done = run(timeout, [&] {
      return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    });
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  result<std::size_t> read(char* to, std::size_t size, usec timeout) override {
    return run(timeout, [&] { return SSL_read(ssl_.get(), to, static_cast<int>(size)); });
  }

private:
  template <class F>
  result<std::size_t> run(usec timeout, F&& step) {
    const auto until = deadline(timeout);
    for (;;) {
      ERR_clear_error();
      const int n = step();
      if (n > 0) return static_cast<std::size_t>(n);
      const int wants = SSL_get_error(ssl_.get(), n);
      if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE)
        return lost(tls_text(ssl_.get()));
      const short events = wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      if (auto ready = await(fd_.get(), events, stop_, until); !ready)
        return tl::unexpected(ready.error());
    }
  }

  owned_fd fd_;
  const stop_signal& stop_;
  std::unique_ptr<SSL_CTX, ssl_deleter> context_;
  std::unique_ptr<SSL, ssl_deleter> ssl_;
};

} // namespace

stop_signal::stop_signal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

stop_signal::~stop_signal() {
  ::close(fd_);
}

void stop_signal::raise() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(fd_, &one, sizeof one);
}

bool stop_signal::raised() const noexcept {
  return wait(usec::zero());
}

bool stop_signal::wait(usec longest) const noexcept {
  pollfd p{fd_, POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  return ::poll(&p, 1, static_cast<int>(ms)) > 0;
}

result<std::unique_ptr<stream>> stream::open(const redis_address& to, const stop_signal& stop,
                                             usec timeout) {
  auto fd = dial(to, stop, timeout);
  if (!fd) return tl::unexpected(fd.error());
  if (!to.tls) return std::make_unique<plain_stream>(std::move(*fd), stop);
  auto tls = std::make_unique<tls_stream>(std::move(*fd), stop);
  if (auto ok = tls->shake_hands(to, timeout); !ok) return tl::unexpected(ok.error());
  return tls;
}

} // namespace lycosa::bridges
