#include "tests/cli/support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace lycosa::cli::testing {

fake_node::fake_node(std::function<response(const request&)> handle) : handle_(std::move(handle)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_, 16) != 0
      || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error("no port to listen on");
  port_ = ntohs(at.sin_port);
  thread_ = std::thread([this] { serve(); });
}

fake_node::~fake_node() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
  for (int c : connections_)
    ::shutdown(c, SHUT_RDWR);
  for (auto& t : talks_)
    t.join();
  for (int c : connections_)
    ::close(c);
}

std::string fake_node::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<request> fake_node::requests() const {
  std::lock_guard lock{mutex_};
  return requests_;
}

void fake_node::serve() {
  for (;;) {
    int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    connections_.push_back(connection);
    talks_.emplace_back([this, connection] { talk(connection); });
  }
}

void fake_node::talk(int connection) {
  std::string buffer;
  char chunk[65536];
  for (;;) {
    std::size_t head = 0, length = 0;
    for (;;) {
      head = buffer.find("\r\n\r\n");
      if (head != std::string::npos) {
        auto at = buffer.find("Content-Length: ");
        length = at < head ? std::strtoul(buffer.c_str() + at + 16, nullptr, 10) : 0;
        if (buffer.size() >= head + 4 + length) break;
      }
      auto n = ::recv(connection, chunk, sizeof chunk, 0);
      if (n <= 0) return;
      buffer.append(chunk, static_cast<std::size_t>(n));
    }
    request r;
    std::istringstream line{buffer};
    line >> r.method >> r.target;
    r.body = buffer.substr(head + 4, length);
    buffer.erase(0, head + 4 + length);
    response answer;
    {
      std::lock_guard lock{mutex_};
      requests_.push_back(r);
      answer = handle_(r);
    }
    auto text = "HTTP/1.1 " + std::to_string(answer.status) + " X\r\n" + answer.headers
                + "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n"
                + answer.body;
    if (::send(connection, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
  }
}

} // namespace lycosa::cli::testing
