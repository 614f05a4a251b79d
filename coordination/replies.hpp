#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace lycosa::coordination {

/// Who still waits for an answer: each gets one, if only that there will be none.
class replies {
public:
  using reply = std::function<void(result<bool>)>;

  /// Once closed, it answers at once.
  std::uint64_t add(reply to) {
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) {
        open_.emplace(++last_, std::move(to));
        return last_;
      }
    }
    if (to) to(stopped());
    return 0;
  }

  void answer(std::uint64_t ticket, result<bool> with) {
    reply to;
    {
      const std::lock_guard lock(mutex_);
      const auto at = open_.find(ticket);
      if (at == open_.end()) return;
      to = std::move(at->second);
      open_.erase(at);
    }
    if (to) to(std::move(with));
  }

  void close() {
    std::map<std::uint64_t, reply> open;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      open.swap(open_);
    }
    for (auto& [ticket, to] : open)
      if (to) to(stopped());
  }

private:
  static result<bool> stopped() {
    return fail(errc::unavailable, "coordination", "this node has stopped");
  }

  std::mutex mutex_;
  std::map<std::uint64_t, reply> open_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

} // namespace lycosa::coordination
