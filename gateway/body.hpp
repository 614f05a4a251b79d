#pragma once

#include "gateway/budget.hpp"

#include <cstring>
#include <memory_resource>
#include <string>
#include <string_view>

namespace lycosa::gateway {

/// Keeps strings that are not to be found in the body as they are: unescaped ones, made-up ids.
class text_arena {
public:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    auto* to = static_cast<char*>(memory_.allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

private:
  std::pmr::monotonic_buffer_resource memory_;
};

/// A request's body with all that views into it need. Lives as long as the node works with it.
struct request_body {
  budget_share share;
  std::string text;
  text_arena arena;
};

} // namespace lycosa::gateway
