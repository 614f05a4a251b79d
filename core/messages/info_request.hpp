#pragma once

#include "core/types.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa {

/// The handshake with a project's script. pyspider asks every active project once for `min_tick`,
/// `retry_delay` and `crawl_config` (`_on_get_info`), again when its script changes, and selects
/// nothing until the answer comes; a lost answer silenced a project until its row changed
/// (issue 653). Here the question is asked again, with growing pauses, until it is answered, and
/// `patience` after it was first handed out the rest goes on without the answer: consumers that do
/// not know the handshake are served too.
///
/// Pure: told what happens and when, says whether to ask. A question that waits for a consumer is
/// not asked a second time.
class info_request {
public:
  static constexpr usec first_pause = std::chrono::seconds{10};
  static constexpr usec longest_pause = std::chrono::minutes{5};

  explicit info_request(usec patience = std::chrono::seconds{3}) : patience_(patience) {}

  /// What the project is now. `wanted`: it runs and has a script. `answered_md5`: the script whose
  /// answer is in force (kept over restarts). A script not yet asked about is asked at once.
  void set(bool wanted, std::string_view script_md5, std::string_view answered_md5, mono_time now) {
    const bool pending = wanted && script_md5 != answered_md5;
    if (!pending) {
      pending_ = false;
      return;
    }
    if (pending_ && script_ == script_md5) return;
    pending_ = true;
    script_ = script_md5;
    asked_ = 0;
    waiting_ = false;
    next_ = now;
  }

  /// The script has not answered yet.
  [[nodiscard]] bool pending() const noexcept { return pending_; }
  /// Nothing else may be handed out yet.
  [[nodiscard]] bool blocks(mono_time now) const noexcept {
    return pending_ && (asked_ == 0 || now - first_asked_ < patience_);
  }
  /// The script the question is about.
  [[nodiscard]] const std::string& script() const noexcept { return script_; }
  /// How often it was handed to a consumer.
  [[nodiscard]] std::uint32_t asked() const noexcept { return asked_; }

  /// Whether to put the question now; then it waits for a consumer.
  [[nodiscard]] bool ask(mono_time now) {
    if (!pending_ || waiting_ || now < next_) return false;
    waiting_ = true;
    return true;
  }

  /// A consumer has it: the pause until the next time begins.
  void handed_out(mono_time now) {
    waiting_ = false;
    if (asked_ == 0) first_asked_ = now;
    const auto doublings = std::min<std::uint32_t>(asked_, 5);
    next_ = now + std::min(first_pause * (1 << doublings), longest_pause);
    asked_ += 1;
  }

  /// When `ask` or `blocks` will change by time alone.
  [[nodiscard]] std::optional<mono_time> next(mono_time now) const {
    if (!pending_ || waiting_) return std::nullopt;
    if (asked_ > 0 && blocks(now)) return std::min(next_, first_asked_ + patience_);
    return next_;
  }

private:
  bool pending_ = false;
  bool waiting_ = false; ///< put, and not with a consumer yet
  std::uint32_t asked_ = 0;
  mono_time next_{};
  mono_time first_asked_{};
  usec patience_;
  std::string script_;
};

} // namespace lycosa
