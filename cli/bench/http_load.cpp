#include "cli/bench/http_load.hpp"

#include "cli/bench/interleave.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

namespace lycosa::cli::bench {

namespace {

/// The value of a header of an answer's head; empty if it is not there. `name` ends in a colon.
std::string_view header(std::string_view head, std::string_view name) {
  for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos;) {
    at += 2;
    if (head.size() - at < name.size()
        || ::strncasecmp(head.data() + at, name.data(), name.size()) != 0)
      continue;
    auto value = head.substr(at + name.size());
    value = value.substr(0, value.find("\r\n"));
    while (value.starts_with(' '))
      value.remove_prefix(1);
    return value;
  }
  return {};
}

class tcp_connection final : public load_connection {
public:
  tcp_connection() : in_(64 * 1024) {}
  ~tcp_connection() override {
    if (socket_ < 0) return;
    forget_socket(socket_);
    ::close(socket_);
  }
  tcp_connection(const tcp_connection&) = delete;
  tcp_connection& operator=(const tcp_connection&) = delete;

  result<void> connect(const std::string& host, std::uint16_t port) {
    sockaddr_storage address{};
    socklen_t size = 0;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    auto bare = host;
    if (bare.starts_with('[') && bare.ends_with(']')) bare = bare.substr(1, bare.size() - 2);
    if (::inet_pton(AF_INET, bare.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, bare.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      size = sizeof *v6;
    } else {
      return fail(errc::invalid_argument, host, "not a numeric address");
    }
    const auto where = host + ":" + std::to_string(port);
    socket_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0)
      return fail(errc::unavailable, where, std::strerror(errno));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    host_ = where;
    return {};
  }

  result<std::string_view> send(std::string_view method, std::string_view path,
                                std::string_view body) override {
    head_.assign(method);
    head_ += ' ';
    head_ += path;
    head_ += " HTTP/1.1\r\nHost: ";
    head_ += host_;
    head_ += "\r\nContent-Type: application/json\r\nContent-Length: ";
    head_ += std::to_string(body.size());
    head_ += "\r\n\r\n";
    if (auto ok = write(body); !ok) return lost(path, ok.error());
    return read(path);
  }

private:
  static tl::unexpected<error> lost(std::string_view path, const error& e) {
    return fail(errc::unavailable, std::string{path}, e.why);
  }

  /// Head and body in one system call, as long as the socket takes them.
  result<void> write(std::string_view body) {
    iovec parts[2] = {{head_.data(), head_.size()},
                      {const_cast<char*>(body.data()), body.size()}}; // sendmsg only reads
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    while (message.msg_iovlen > 0) {
      auto n = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(errc::unavailable, {}, std::strerror(errno));
      auto sent = static_cast<std::size_t>(n);
      while (message.msg_iovlen > 0 && sent >= message.msg_iov->iov_len) {
        sent -= message.msg_iov->iov_len;
        ++message.msg_iov;
        --message.msg_iovlen;
      }
      if (message.msg_iovlen == 0) break;
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + sent;
      message.msg_iov->iov_len -= sent;
    }
    return {};
  }

  /// Reads on, to at most the buffer's end.
  result<void> more() {
    for (;;) {
      const auto n = ::recv(socket_, in_.data() + filled_, in_.size() - filled_, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        wait_readable(socket_);
        continue;
      }
      if (n < 0) return fail(errc::unavailable, {}, std::strerror(errno));
      if (n == 0) return fail(errc::unavailable, {}, "the node closed the connection");
      filled_ += static_cast<std::size_t>(n);
      return {};
    }
  }

  result<std::string_view> read(std::string_view path) {
    filled_ = 0;
    std::size_t head = std::string_view::npos;
    while (head == std::string_view::npos) {
      if (filled_ == in_.size()) return fail(errc::internal, std::string{path}, "endless head");
      if (auto ok = more(); !ok) return lost(path, ok.error());
      head = std::string_view{in_.data(), filled_}.find("\r\n\r\n");
    }
    const std::string_view first{in_.data(), head + 2};
    const auto digits = header(first, "Content-Length:");
    std::size_t size = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), size).ec != std::errc{})
      return fail(errc::internal, std::string{path}, "an answer of no stated length");
    const bool good = first.substr(first.find(' ') + 1).starts_with('2');
    const auto begin = head + 4, end = begin + size;
    if (in_.size() < end) in_.resize(end + end / 2);
    while (filled_ < end)
      if (auto ok = more(); !ok) return lost(path, ok.error());
    const std::string_view body{in_.data() + begin, size};
    if (!good) return fail(errc::internal, std::string{path}, std::string{body.substr(0, 300)});
    return body;
  }

  int socket_ = -1;
  std::string host_;
  std::string head_;
  std::vector<char> in_;
  std::size_t filled_ = 0;
};

} // namespace

result<std::unique_ptr<load_connection>> load_connection::open(const std::string& host,
                                                               std::uint16_t port) {
  auto made = std::make_unique<tcp_connection>();
  if (auto ok = made->connect(host, port); !ok) return tl::unexpected(ok.error());
  return made;
}

} // namespace lycosa::cli::bench
