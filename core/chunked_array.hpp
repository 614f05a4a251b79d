#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace lycosa {

/// A stack of values in chunks of `N`: grows without moving what is there, so it neither stalls
/// nor needs twice its memory while growing, and gives chunks back as it shrinks.
/// Invariant: exactly the chunks that hold an element exist, plus at most one spare.
template <class T, std::size_t N>
class chunked_array {
  static_assert((N & (N - 1)) == 0, "indexing by shift and mask");

public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return chunks_[i / N][i % N]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return chunks_[i / N][i % N]; }
  [[nodiscard]] T& back() noexcept { return (*this)[size_ - 1]; }

  void push_back(T value) {
    if (size_ == chunks_.size() * N) chunks_.push_back(std::make_unique<T[]>(N));
    ++size_;
    back() = std::move(value);
  }

  void pop_back() noexcept {
    back() = T{}; // what the element owned goes now, not with the chunk
    --size_;
    const auto needed = (size_ + N - 1) / N;
    if (chunks_.size() > needed + 1) chunks_.pop_back();
  }

  void clear() noexcept {
    chunks_.clear();
    chunks_.shrink_to_fit();
    size_ = 0;
  }

private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

} // namespace lycosa
