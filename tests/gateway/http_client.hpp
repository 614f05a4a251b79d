#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace lycosa::gateway {

struct http_answer {
  int status = 0; ///< 0 = the connection ended without an answer
  std::string head;
  std::string body;
};

/// One connection, byte by byte if need be.
class http_client {
public:
  explicit http_client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval patience{20, 0}; // only a failing test gets there
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) std::abort();
  }
  http_client(const http_client&) = delete;
  http_client& operator=(const http_client&) = delete;
  ~http_client() { close(); }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// Goes away as a killed process with unread data does.
  void reset() {
    linger now{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void request(std::string_view method, std::string_view target, std::string_view body = {},
               std::string_view headers = {}) {
    std::string out{method};
    out += ' ';
    out += target;
    out += " HTTP/1.1\r\nHost: x\r\n";
    out += headers;
    if (!body.empty() || method != "GET")
      out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    out += "\r\n";
    out += body;
    send(out);
  }
  http_answer read(bool is_head = false) {
    http_answer a;
    auto end = std::string::npos;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return a;
    a.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    a.status = std::atoi(a.head.c_str() + 9);
    if (is_head) return a;
    if (a.head.find("chunked") != std::string::npos) {
      for (;;) {
        auto line = std::string::npos;
        while ((line = in_.find("\r\n")) == std::string::npos)
          if (!more()) return {};
        const auto size = std::strtoul(in_.c_str(), nullptr, 16);
        while (in_.size() < line + 4 + size)
          if (!more()) return {};
        a.body += in_.substr(line + 2, size);
        in_.erase(0, line + 4 + size);
        if (size == 0) return a;
      }
    }
    const auto at = a.head.find("Content-Length: ");
    if (at == std::string::npos) return a;
    const auto size = std::strtoul(a.head.c_str() + at + 16, nullptr, 10);
    while (in_.size() < size)
      if (!more()) return {};
    a.body = in_.substr(0, size);
    in_.erase(0, size);
    return a;
  }
  /// What has arrived when it ends with or holds `text`; empty = the connection ended before.
  std::string read_until(std::string_view text) {
    while (in_.find(text) == std::string::npos)
      if (!more()) return {};
    const auto end = in_.find(text) + text.size();
    auto got = in_.substr(0, end);
    in_.erase(0, end);
    return got;
  }
  http_answer call(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view headers = {}) {
    request(method, target, body, headers);
    return read(method == "HEAD");
  }
  /// Waits for the server to close.
  bool ended() {
    while (more())
      in_.clear();
    return closed_;
  }

private:
  bool more() {
    char bytes[16 * 1024];
    const auto n = recv(fd_, bytes, sizeof bytes, 0);
    if (n > 0) in_.append(bytes, static_cast<std::size_t>(n));
    closed_ = n == 0 || (n < 0 && errno == ECONNRESET);
    return n > 0;
  }

  int fd_;
  std::string in_;
  bool closed_ = false;
};

} // namespace lycosa::gateway
