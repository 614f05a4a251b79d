#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace lycosa::cli::bench {

/// Which tasks of a run were delivered: a bit each, for any number of tasks. Any thread.
class delivery_check {
public:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 34; ///< numbers are below

  delivery_check() = default;
  ~delivery_check() {
    for (auto& c : chunks_)
      delete c.load();
  }
  delivery_check(const delivery_check&) = delete;
  delivery_check& operator=(const delivery_check&) = delete;

  /// Task `number` was handed out.
  void delivered(std::uint64_t number) {
    const auto bit = std::uint64_t{1} << (number % 64);
    auto& word = (*chunk(number))[number % chunk_bits / 64];
    if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) ++twice_;
  }

  /// How often a task was handed out that had been before.
  [[nodiscard]] std::uint64_t twice() const { return twice_; }

  /// How many of the first `tasks` were never handed out.
  [[nodiscard]] std::uint64_t lost(std::uint64_t tasks) const {
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      const auto* c = chunks_[i / chunk_bits].load();
      if (c == nullptr || (((*c)[i % chunk_bits / 64] >> (i % 64)) & 1) == 0) ++n;
    }
    return n;
  }

  /// All may be handed out once more. Only while nobody else is here.
  void forget() {
    for (auto& c : chunks_)
      delete c.exchange(nullptr);
  }

private:
  static constexpr std::uint64_t chunk_bits = std::uint64_t{1} << 20;
  using words = std::array<std::atomic<std::uint64_t>, chunk_bits / 64>;

  words* chunk(std::uint64_t number) {
    auto& slot = chunks_[number / chunk_bits];
    if (auto* there = slot.load(std::memory_order_acquire)) return there;
    auto made = std::make_unique<words>();
    words* expected = nullptr;
    if (slot.compare_exchange_strong(expected, made.get())) return made.release();
    return expected;
  }

  std::array<std::atomic<words*>, (limit / chunk_bits)> chunks_{};
  std::atomic<std::uint64_t> twice_{0};
};

} // namespace lycosa::cli::bench
