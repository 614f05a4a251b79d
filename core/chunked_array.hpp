#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace lycosa {

/// A stack of values in chunks of `N`: grows without moving what is there, so it neither stalls
/// nor needs twice its memory while growing, and gives chunks back as it shrinks. The first chunk
/// alone starts small and doubles: there may be a stack for each of many projects that are all but
/// empty.
/// Invariant: exactly the chunks that hold an element exist, plus at most one spare; all but the
/// first have N elements, and the first has where there are others.
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
    if (size_ == (chunks_.size() == 1 ? first_ : chunks_.size() * N)) grow();
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
  static constexpr std::size_t least = N < 16 ? N : 16;

  void grow() {
    if (chunks_.size() == 1 && first_ < N) {
      auto larger = std::make_unique<T[]>(2 * first_);
      std::move(chunks_[0].get(), chunks_[0].get() + first_, larger.get());
      chunks_[0] = std::move(larger);
      first_ *= 2;
      return;
    }
    if (chunks_.empty()) first_ = least;
    chunks_.push_back(std::make_unique<T[]>(chunks_.empty() ? first_ : N));
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t first_ = 0; ///< elements that the first chunk has room for
  std::size_t size_ = 0;
};

} // namespace lycosa
