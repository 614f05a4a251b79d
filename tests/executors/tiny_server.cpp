#include "tests/executors/tiny_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <sstream>
#include <stdexcept>

namespace lycosa::executors::test {

bool connection::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void connection::answer(int status, std::string_view body, std::string_view headers) const {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Status\r\nConnection: close\r\n";
  out.append(headers);
  out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  out.append(body);
  send(out);
}

void connection::wait_for_close() const {
  std::array<char, 256> ignored{};
  while (::recv(fd_, ignored.data(), ignored.size(), 0) > 0) {
  }
}

tiny_server::tiny_server(handler h)
    : handler_(std::move(h)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&a), size) != 0
      || ::listen(listener_.get(), 512) != 0
      || ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&a), &size) != 0)
    throw std::runtime_error("no port for the test's server");
  port_ = ::ntohs(a.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

tiny_server::~tiny_server() {
  {
    const std::lock_guard hold(lock_);
    closed_ = true;
    for (const int fd : open_)
      ::shutdown(fd, SHUT_RDWR);
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (auto& t : threads_)
    t.join();
  for (const int fd : open_)
    ::close(fd);
}

void tiny_server::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard hold(lock_);
    open_.push_back(fd);
    if (closed_) ::shutdown(fd, SHUT_RDWR);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void tiny_server::serve(int fd) {
  std::string in;
  std::array<char, 4096> buffer{};
  const auto more = [&] {
    const auto n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n > 0) in.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0;
  };
  std::size_t end = 0;
  while ((end = in.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return;
  http_request q;
  q.head = in.substr(0, end + 2);
  std::istringstream line(q.head);
  line >> q.method >> q.target;
  std::size_t length = 0;
  if (const auto at = q.head.find("Content-Length: "); at != std::string::npos)
    length = std::stoul(q.head.substr(at + 16));
  while (in.size() < end + 4 + length)
    if (!more()) return;
  q.body = in.substr(end + 4);
  handler_(q, connection(fd));
  // Descriptors are closed by the destructor alone, so that none is shut down after reuse.
  ::shutdown(fd, SHUT_RDWR);
}

} // namespace lycosa::executors::test
