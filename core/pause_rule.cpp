#include "core/pause_rule.hpp"

#include "core/saturating.hpp"

#include <algorithm>
#include <utility>

namespace lycosa {

void pause_rule::set(const pause_settings& settings) {
  settings_ = settings;
  if (settings_.fail_num <= 0) resume();
}

void pause_rule::record(bool ok, mono_time now) {
  advance(now);
  if (settings_.fail_num <= 0) return;
  switch (state_) {
  case state::paused:
    // Crawls that were under way when the pause began; the check after it decides.
    break;
  case state::checking:
    if (ok)
      resume();
    else if (++fails_ >= settings_.check_num)
      pause(now);
    break;
  case state::running:
    if (ok)
      fails_ = 0;
    else if (++fails_ >= settings_.fail_num)
      pause(now);
    break;
  }
}

bool pause_rule::advance(mono_time now) {
  const auto at = next_change();
  if (!at || now < *at) return false;
  if (state_ == state::paused) {
    state_ = state::checking;
    since_ = now; // not *at: a check begins when tasks can go out again
    fails_ = 0;
  } else {
    // Too few crawls to tell. Their failures count towards the next pause.
    state_ = state::running;
  }
  return true;
}

void pause_rule::resume() {
  state_ = state::running;
  fails_ = 0;
}

std::optional<mono_time> pause_rule::next_change() const {
  if (state_ == state::running) return std::nullopt;
  return saturating_add(since_, std::max(settings_.pause_time, usec::zero()));
}

void pause_rule::pause(mono_time now) {
  state_ = state::paused;
  since_ = now;
  caused_by_ = std::exchange(fails_, 0);
}

} // namespace lycosa
