#include "tests/coordination/garbage_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace lycosa::coordination::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  return at;
}

} // namespace

garbage_server::garbage_server(std::string answer) : answer_(std::move(answer)) {
  listen();
}

garbage_server::garbage_server(const std::string& to, forward)
    : to_port_(static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1)))) {
  listen();
}

garbage_server::~garbage_server() {
  stop_ = true;
  thread_.join();
  for (const auto& p : pairs_) {
    ::close(p.from);
    if (p.to >= 0) ::close(p.to);
  }
  ::close(listener_);
}

std::string garbage_server::endpoint() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

void garbage_server::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto at = loopback(0);
  socklen_t size = sizeof at;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0
      || ::listen(listener_, 64) != 0
      || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error("cannot listen");
  port_ = ntohs(at.sin_port);
  thread_ = std::thread([this] { run(); });
}

void garbage_server::run() {
  while (!stop_) {
    std::vector<pollfd> fds{{listener_, POLLIN, 0}};
    const bool deaf = silent_;
    if (!deaf)
      for (const auto& p : pairs_) {
        fds.push_back({p.from, POLLIN, 0});
        fds.push_back({p.to, POLLIN, 0}); // poll passes over -1
      }
    ::poll(fds.data(), fds.size(), 20);
    if (fds[0].revents) take();
    for (std::size_t i = 1; i < fds.size() && !silent_; i += 2) {
      auto& p = pairs_[(i - 1) / 2];
      bool goes_on = true;
      if (fds[i].revents) goes_on = pass(p.from, p.to);
      if (goes_on && fds[i + 1].revents) goes_on = pass(p.to, p.from);
      if (goes_on) continue;
      ::close(p.from);
      if (p.to >= 0) ::close(p.to);
      p = {};
    }
    std::erase_if(pairs_, [](const pair& p) { return p.from < 0; });
  }
}

void garbage_server::take() {
  pair p;
  p.from = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (to_port_ != 0 && !silent_) {
    p.to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto at = loopback(to_port_);
    if (::connect(p.to, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      // Not there yet: as if this server were not either.
      ::close(p.to);
      ::close(p.from);
      return;
    }
  }
  pairs_.push_back(p);
}

/// False = the connection has ended.
bool garbage_server::pass(int from, int to) {
  char bytes[4096];
  const auto n = ::recv(from, bytes, sizeof bytes, 0);
  if (n <= 0) return false;
  if (to >= 0) return ::send(to, bytes, static_cast<std::size_t>(n), MSG_NOSIGNAL) == n;
  if (answer_.empty()) return true;
  ::send(from, answer_.data(), answer_.size(), MSG_NOSIGNAL);
  return false;
}

} // namespace lycosa::coordination::testing
