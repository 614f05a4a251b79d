#pragma once

#include "actors/links.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace lycosa::actors::test {

inline bool until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return false;
}

constexpr cluster::node_id node(std::uint64_t n) {
  return cluster::node_id{n};
}

/// One node's links and what they brought.
struct linked {
  explicit linked(std::uint64_t self, const std::function<void(link_config&)>& change = {}) {
    config.listen = "127.0.0.1:0";
    config.cluster = "test";
    config.self = node(self);
    config.name = "n" + std::to_string(self);
    config.heartbeat = std::chrono::milliseconds{100};
    config.longest_back_off = std::chrono::milliseconds{50};
    if (change) change(config);
    start();
  }
  /// First of all: what its handlers write to goes after it.
  ~linked() {
    if (l) l->stop();
  }
  linked(const linked&) = delete;
  linked& operator=(const linked&) = delete;
  void start() {
    auto made = links::start(config);
    ASSERT_TRUE(made) << made.error().text();
    l = std::move(*made);
    l->handle(1, [this](cluster::node_id from, const bytes_ptr& body) {
      if (on_message) on_message(from, body);
      const std::lock_guard lock(mutex);
      got[from].push_back(*body);
    });
    l->on_change([this](cluster::node_id who, bool up) {
      const std::lock_guard lock(mutex);
      changes[who].push_back(up);
    });
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(l->port()); }
  bool send(const linked& to, std::string text) const {
    return l->send(to.config.self, 1, std::make_shared<const std::string>(std::move(text)));
  }
  std::deque<std::string> from(const linked& other) {
    const std::lock_guard lock(mutex);
    return got[other.config.self];
  }
  std::vector<bool> told(const linked& other) {
    const std::lock_guard lock(mutex);
    return changes[other.config.self];
  }

  link_config config;
  std::unique_ptr<links> l;
  std::function<void(cluster::node_id, const bytes_ptr&)> on_message;
  std::mutex mutex;
  std::map<cluster::node_id, std::deque<std::string>> got;
  std::map<cluster::node_id, std::vector<bool>> changes;
};

inline void introduce(const std::vector<linked*>& all) {
  std::map<cluster::node_id, std::string> members;
  for (auto* n : all)
    members[n->config.self] = n->address();
  for (auto* n : all)
    n->l->members(members);
}

inline bool both_up(linked& a, linked& b) {
  return until([&] { return a.l->is_up(b.config.self) && b.l->is_up(a.config.self); });
}

/// A network between two nodes that can be cut without either of them being told.
class cable {
public:
  explicit cable(std::uint16_t to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at);
    ::listen(listener_, 16);
    socklen_t size = sizeof at;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~cable() {
    over_ = true;
    thread_.join();
    for (auto& [a, b] : pairs_) {
      ::close(a);
      ::close(b);
    }
    ::close(listener_);
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  std::uint16_t port = 0;
  std::atomic<bool> is_cut{false};
  std::atomic<int> connections{0};

private:
  void run() {
    while (!over_) {
      std::vector<pollfd> all{{listener_, POLLIN, 0}};
      if (!is_cut)
        for (auto& [a, b] : pairs_) {
          all.push_back({a, POLLIN, 0});
          all.push_back({b, POLLIN, 0});
        }
      ::poll(all.data(), all.size(), 5);
      if (is_cut) {
        ::usleep(2000);
        continue;
      }
      std::vector<std::pair<int, int>> dead;
      for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i].revents != 0) {
          auto& pair = pairs_[(i - 1) / 2];
          if (!move(all[i].fd, all[i].fd == pair.first ? pair.second : pair.first))
            dead.push_back(pair);
        }
      for (auto& d : dead) {
        if (std::erase(pairs_, d) == 0) continue;
        ::close(d.first);
        ::close(d.second);
      }
      if (all[0].revents != 0) plug();
    }
  }
  static bool move(int from, int to) {
    char bytes[65536];
    const auto n = ::recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) return false;
    for (ssize_t at = 0; at < n;) {
      const auto m = ::send(to, bytes + at, static_cast<std::size_t>(n - at), MSG_NOSIGNAL);
      if (m <= 0) return false;
      at += m;
    }
    return true;
  }
  void plug() {
    const int a = ::accept(listener_, nullptr, nullptr);
    const int b = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(to_);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(b, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
      ::close(a);
      ::close(b);
      return;
    }
    pairs_.emplace_back(a, b);
    ++connections;
  }

  std::uint16_t to_;
  int listener_;
  std::vector<std::pair<int, int>> pairs_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

} // namespace lycosa::actors::test
