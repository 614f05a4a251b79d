#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace lycosa::executors {

/// Looks for a text in a stream that comes in pieces, without keeping the stream.
class text_search {
public:
  explicit text_search(std::string text) : text_(std::move(text)), found_(text_.empty()) {}

  void feed(std::string_view piece) {
    if (found_) return;
    carry_.append(piece);
    found_ = carry_.find(text_) != std::string::npos;
    // The text may begin in this piece and end in the next.
    if (carry_.size() >= text_.size()) carry_.erase(0, carry_.size() - (text_.size() - 1));
  }

  [[nodiscard]] bool found() const { return found_; }

private:
  std::string text_;
  std::string carry_;
  bool found_;
};

} // namespace lycosa::executors
