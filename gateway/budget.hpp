#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace lycosa::gateway {

/// Bytes of request bodies that may be held at a time. Shared by all connections; thread-safe.
class budget {
public:
  explicit budget(std::size_t limit) : limit_(limit) {}

  /// False if `n` more would pass the limit; nothing is taken then.
  bool try_take(std::size_t n) noexcept {
    auto used = used_.load(std::memory_order_relaxed);
    do
      if (n > limit_ || used > limit_ - n) return false;
    while (!used_.compare_exchange_weak(used, used + n, std::memory_order_relaxed));
    return true;
  }
  /// Whether `n` more could be taken now.
  [[nodiscard]] bool has_room(std::size_t n) const noexcept {
    const auto used = used_.load(std::memory_order_relaxed);
    return n <= limit_ && used <= limit_ - n;
  }
  void give(std::size_t n) noexcept { used_.fetch_sub(n, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

private:
  std::size_t limit_;
  std::atomic<std::size_t> used_{0};
};

/// What one body has taken of the budget; gives it back when the last user of the body is done.
/// The first `free` bytes are not counted, so that a node under load can still be asked things.
class budget_share {
public:
  static constexpr std::size_t free = 16 * 1024;

  budget_share() = default;
  explicit budget_share(std::shared_ptr<budget> from) : from_(std::move(from)) {}
  budget_share(budget_share&& other) noexcept
      : from_(std::move(other.from_)), taken_(std::exchange(other.taken_, 0)) {}
  budget_share& operator=(budget_share&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(taken_, other.taken_);
    return *this;
  }
  ~budget_share() {
    if (from_ && taken_ > 0) from_->give(taken_);
  }

  /// Whether the share could cover `bytes` in all now; takes nothing.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return !from_ || bytes <= free + taken_ || from_->has_room(bytes - free - taken_);
  }

  /// Makes the share cover `bytes` in all. False if the budget does not allow it.
  bool cover(std::size_t bytes) noexcept {
    if (!from_ || bytes <= free + taken_) return true;
    const auto more = bytes - free - taken_;
    if (!from_->try_take(more)) return false;
    taken_ += more;
    return true;
  }

private:
  std::shared_ptr<budget> from_;
  std::size_t taken_ = 0;
};

} // namespace lycosa::gateway
