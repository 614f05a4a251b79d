#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lycosa::executors {

/// Keeps the last `cap` bytes of a stream. Holds at most twice as many, so that dropping the front
/// costs O(1) a byte.
class tail_buffer {
public:
  explicit tail_buffer(std::size_t cap) : cap_(cap) {}

  void append(std::string_view bytes) {
    if (bytes.size() > cap_) {
      cut_ = true;
      bytes.remove_prefix(bytes.size() - cap_);
      bytes_.clear();
    }
    bytes_.append(bytes);
    if (bytes_.size() > 2 * cap_) drop_front();
  }

  /// Whether bytes were dropped; right at any time.
  [[nodiscard]] bool cut() const { return cut_ || bytes_.size() > cap_; }

  /// Moves the tail out. After a cut it starts at a character: what is left of a UTF-8 sequence
  /// whose head was dropped goes too.
  [[nodiscard]] std::string take() {
    if (bytes_.size() > cap_) drop_front();
    if (cut_) {
      std::size_t rest = 0;
      while (rest < 3 && rest < bytes_.size()
             && (static_cast<unsigned char>(bytes_[rest]) & 0xC0u) == 0x80u)
        ++rest;
      bytes_.erase(0, rest);
    }
    return std::move(bytes_);
  }

private:
  void drop_front() {
    bytes_.erase(0, bytes_.size() - cap_);
    cut_ = true;
  }

  std::size_t cap_;
  std::string bytes_;
  bool cut_ = false;
};

} // namespace lycosa::executors
