#pragma once

#include "core/triggers/search_budget.hpp"
#include "core/triggers/zone.hpp"

#include <algorithm>
#include <optional>

namespace lycosa::trigger {

/// What happens to a reading the clocks jump over when they are set forward.
enum class gap_policy : std::uint8_t {
  skip,      ///< it does not happen that day
  run_after, ///< once at the moment of the change, however many readings were jumped over
  shift,     ///< as long after the change as it lies inside the gap
};

/// What happens to a reading the clocks show twice when they are set back.
enum class fold_policy : std::uint8_t { both, first, second };

/// The policies for gaps and folds, which may depend on their length.
struct change_policy {
  gap_policy gap = gap_policy::skip;
  fold_policy fold = fold_policy::both;
  /// As the cron daemon of most Linux systems: changes of up to three hours are taken for daylight
  /// saving, jumps of up to five minutes are made good, and larger ones are the new truth.
  bool cronie = false;
  /// For `cronie`: the expression has a `*` in minute or hour and follows the clock as it is.
  bool wildcard = false;

  [[nodiscard]] gap_policy for_gap(std::chrono::seconds size) const {
    using namespace std::chrono_literals;
    if (!cronie) return gap;
    if (size <= 5min) return gap_policy::run_after;
    return size <= 3h && !wildcard ? gap_policy::run_after : gap_policy::skip;
  }
  [[nodiscard]] fold_policy for_fold(std::chrono::seconds size) const {
    using namespace std::chrono_literals;
    if (!cronie) return fold;
    return size <= 3h && !wildcard ? fold_policy::first : fold_policy::both;
  }
  friend bool operator==(const change_policy&, const change_policy&) = default;
};

namespace detail {

/// False when the policy drops this one of a repeated reading's two instants.
inline bool keeps(const zone& z, const offset_span& span, wall_time u, const change_policy& p) {
  if (u - offset_margin < span.begin && span.begin != wall_time::min()) {
    const auto before = z.at(span.begin - usec{1});
    const auto size = before.offset - span.offset;
    if (size.count() > 0 && u < span.begin + size && p.for_fold(size) == fold_policy::first)
      return false;
  }
  if (u + offset_margin > span.end && span.end != wall_time::max()) {
    const auto after = z.at(span.end);
    const auto size = span.offset - after.offset;
    if (size.count() > 0 && u >= span.end - size && p.for_fold(size) == fold_policy::second)
      return false;
  }
  return true;
}

} // namespace detail

/// The first instant not before `from` at which the zone's clocks show a reading that matches.
/// `match(local_time)` gives the first matching reading not before its argument. Walks from one
/// change of offset to the next: inside such a span local time and instants run alike, so that
/// nothing is ever computed by adding differences of UTC to fields of a date.
template <class Match>
std::optional<wall_time> search_wall(const zone& z, wall_time from, const change_policy& policy,
                                     const Match& match) {
  offset_span span = z.at(from);
  wall_time x = from;
  while (detail::search_budget::spend()) { // readings that only ever fall into gaps end here
    std::optional<wall_time> best;
    const auto reading = match(span.to_local(x));
    if (reading) {
      const wall_time u = span.to_wall(*reading);
      if (u < span.end) best = u;
    }
    // Readings jumped over on the way into this span.
    if (span.begin != wall_time::min() && x < span.begin + offset_margin) {
      const auto before = z.at(span.begin - usec{1});
      const auto size = span.offset - before.offset;
      if (size.count() > 0) {
        const local_time gap_begin = before.to_local(span.begin);
        const local_time gap_end = span.to_local(span.begin);
        const auto how = policy.for_gap(size);
        if (how == gap_policy::run_after && x <= span.begin) {
          const auto lost = match(gap_begin);
          if (lost && *lost < gap_end) return span.begin;
        } else if (how == gap_policy::shift) {
          const auto lost = match(std::max(gap_begin, before.to_local(x)));
          if (lost && *lost < gap_end && (!best || before.to_wall(*lost) <= *best)) {
            const wall_time u = before.to_wall(*lost);
            if (u < span.end) return u;
          }
        }
      }
    }
    if (best) {
      if (detail::keeps(z, span, *best, policy)) return best;
      x = *best + usec{1};
      if (x < span.end) continue;
    } else {
      if (span.end == wall_time::max()) return std::nullopt;
      const bool far = span.end - x > offset_margin;
      if (!reading && far) return std::nullopt;
      const wall_time y =
          reading && far ? wall_time{reading->time_since_epoch()} - offset_margin : span.end;
      x = std::max(y, span.end);
    }
    span = z.at(x);
  }
  return std::nullopt;
}

} // namespace lycosa::trigger
