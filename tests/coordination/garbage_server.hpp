#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace lycosa::coordination::testing {

/// Listens on loopback and answers whatever it is asked with the same bytes, then closes; without
/// any it says nothing. Or it stands between a client and a server, until it falls silent.
class garbage_server {
public:
  struct forward {};

  explicit garbage_server(std::string answer);
  garbage_server(const std::string& to, forward);
  ~garbage_server();
  garbage_server(const garbage_server&) = delete;
  garbage_server& operator=(const garbage_server&) = delete;

  [[nodiscard]] std::string endpoint() const;
  /// From now on nothing passes; connections stay open.
  void fall_silent() { silent_ = true; }

private:
  struct pair {
    int from = -1;
    int to = -1; ///< -1: answered from here
  };
  void listen();
  void run();
  void take();
  bool pass(int from, int to);

  std::string answer_;
  std::uint16_t to_port_ = 0;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::vector<pair> pairs_;
  std::atomic<bool> silent_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

} // namespace lycosa::coordination::testing
