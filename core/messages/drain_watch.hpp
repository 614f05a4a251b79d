#pragma once

#include "core/types.hpp"

#include <optional>

namespace lycosa {

/// Decides when `on_finished` is due: once for every time a project has run dry. Armed by the
/// first task handed out; due when nothing is queued, delayed, handed out or on its way in, and
/// that has been so for `settle`. A processor reports a task before it submits what it found
/// there, so a queue may be empty for a moment in the middle of a crawl; pyspider guessed
/// (10 rounds of its loop, issue 536).
class drain_watch {
public:
  explicit drain_watch(usec settle = std::chrono::seconds{1}) : settle_(settle) {}

  /// A task other than `on_finished` was handed out.
  void selected() {
    armed_ = true;
    empty_since_.reset();
  }

  /// Whether `on_finished` is due now; then the watch is disarmed. `empty`: nothing is left.
  [[nodiscard]] bool due(bool empty, mono_time now) {
    if (!armed_ || !empty) {
      empty_since_.reset();
      return false;
    }
    if (!empty_since_) empty_since_ = now;
    if (now < *empty_since_ + settle_) return false;
    armed_ = false;
    empty_since_.reset();
    return true;
  }

  /// When `due` will say yes if nothing happens.
  [[nodiscard]] std::optional<mono_time> next() const {
    if (!armed_ || !empty_since_) return std::nullopt;
    return *empty_since_ + settle_;
  }

  [[nodiscard]] bool armed() const noexcept { return armed_; }
  /// It was due, and could not be queued.
  void again() { armed_ = true; }

private:
  usec settle_;
  bool armed_ = false;
  std::optional<mono_time> empty_since_;
};

} // namespace lycosa
