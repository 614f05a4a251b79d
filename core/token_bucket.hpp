#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>

namespace lycosa {

/// Limits how many tasks of a project go out: never more than burst + rate·t in any span of t
/// seconds, and in the long run exactly rate.
///
/// Counts in integers, so nothing is rounded away however often it is asked: a level of 10⁻¹⁸
/// tokens, and a rate of 10⁻¹² tokens a second (times a microsecond that is one unit of level).
/// Starts full. Time that stands still or goes back refills nothing.
///
/// Invariant: level ≤ burst.
class token_bucket {
public:
  /// Both ≥ 0; anything else, and not-a-number, counts as 0; above 10⁹ as 10⁹.
  /// A rate of 0 never refills; a burst below 1 never gives a token.
  token_bucket(double rate, double burst, mono_time now);

  /// Takes effect at once: what has been earned by the old rate stays, up to the new burst.
  void set(double rate, double burst, mono_time now);

  /// Takes up to `n` tokens; returns how many.
  std::uint64_t take(std::uint64_t n, mono_time now);

  /// Returns tokens of tasks that were not delivered after all. No more than `take` gave.
  void give_back(std::uint64_t n);

  /// Whole tokens there are now.
  [[nodiscard]] std::uint64_t available(mono_time now) const;

  /// The first microsecond at which there is a token: `now` if there is one already, none if it
  /// never comes by waiting.
  [[nodiscard]] std::optional<mono_time> next_token_at(mono_time now) const;

  [[nodiscard]] double rate() const noexcept { return rate_given_; }
  [[nodiscard]] double burst() const noexcept { return burst_given_; }

private:
  __extension__ using wide = unsigned __int128;

  [[nodiscard]] wide level_at(mono_time now) const;
  void refill(mono_time now);

  wide rate_ = 0;  ///< 10⁻¹² tokens a second = units of level a microsecond
  wide burst_ = 0; ///< 10⁻¹⁸ tokens
  wide level_ = 0; ///< 10⁻¹⁸ tokens
  mono_time at_{}; ///< moment of level_
  double rate_given_ = 0;
  double burst_given_ = 0;
};

} // namespace lycosa
