#pragma once

#include "executors/unique_fd.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lycosa::executors::test {

struct http_request {
  std::string method;
  std::string target;
  std::string head; ///< request line and headers
  std::string body;
};

/// A connection a request came by.
class connection {
public:
  explicit connection(int fd) : fd_(fd) {}
  /// False once the client has gone.
  bool send(std::string_view bytes) const;
  /// Status line, length and body.
  void answer(int status, std::string_view body, std::string_view headers = "") const;
  /// Returns when the client, or the server, closes.
  void wait_for_close() const;

private:
  int fd_;
};

/// An HTTP server for one test on a port of 127.0.0.1; a thread a connection, one request each.
class tiny_server {
public:
  using handler = std::function<void(const http_request&, const connection&)>;

  explicit tiny_server(handler h);
  ~tiny_server();
  tiny_server(const tiny_server&) = delete;
  tiny_server& operator=(const tiny_server&) = delete;

  [[nodiscard]] std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + target;
  }
  [[nodiscard]] int port() const { return port_; }

private:
  void accept_all();
  void serve(int fd);

  handler handler_;
  unique_fd listener_;
  int port_ = 0;
  std::mutex lock_;
  bool closed_ = false;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

} // namespace lycosa::executors::test
