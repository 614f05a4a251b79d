#pragma once

#include <cstddef>
#include <cstdint>

namespace lycosa::trigger::detail {

/// Bounds the work of one question to a trigger, however combinations are nested: those that never
/// meet, and triggers made to waste time, end in "never" after a fraction of a second. The
/// outermost scope on a thread sets the number of steps; scopes inside it share them.
class search_budget {
public:
  /// Steps of about a tenth of a microsecond: some 270 years of two daily members that never meet.
  static constexpr std::int64_t usual = 400'000;

  explicit search_budget(std::int64_t steps = usual) {
    if (depth_++ == 0) left_ = steps;
  }
  ~search_budget() { --depth_; }
  search_budget(const search_budget&) = delete;
  search_budget& operator=(const search_budget&) = delete;

  /// Takes steps; false when there are none left.
  static bool spend(std::int64_t steps = 1) {
    left_ -= steps;
    return left_ >= 0;
  }

  /// What is left for one of several parts still to be asked, so that a part which never ends in
  /// itself does not starve the others.
  class share {
  public:
    explicit share(std::size_t parts)
        : before_(left_), given_(left_ / static_cast<std::int64_t>(parts)) {
      left_ = given_;
    }
    ~share() { left_ = before_ - (given_ - left_); }
    share(const share&) = delete;
    share& operator=(const share&) = delete;

  private:
    std::int64_t before_, given_;
  };

private:
  static inline thread_local std::int64_t left_ = usual;
  static inline thread_local int depth_ = 0;
};

} // namespace lycosa::trigger::detail
