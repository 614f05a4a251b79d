#pragma once

#include "core/triggers/zone.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lycosa::trigger {

namespace detail {
struct node;
}

/// One planned run: when the rule says, and when jitter moves it to. Kept apart, so that the next
/// search starts from the nominal time and jitter never adds up.
struct fire {
  wall_time nominal;
  usec jitter{0}; ///< never negative, always before the next nominal time
  [[nodiscard]] wall_time planned() const { return nominal + jitter; }
  friend bool operator==(const fire&, const fire&) = default;
};

/// When something is to happen: a date, an interval, a cron expression, a combination of these. A
/// value without state: the same question always has the same answer, and asking changes nothing.
/// Copies share their immutable content and may be used by several threads. Made by `compile`.
class trigger {
public:
  /// Never fires.
  trigger();
  explicit trigger(std::shared_ptr<const detail::node> node) : node_(std::move(node)) {}

  /// The nominal time of the next run: the first not before `now` when nothing ran yet, else the
  /// first after `previous`, so that missed times are enumerated and nothing fires twice, even
  /// when the clock was set back. Strictly later than `previous`. Empty when there is none left.
  /// A date is returned once, even when it is past. An interval with a previous run is counted
  /// from that run.
  [[nodiscard]] std::optional<wall_time> next(std::optional<wall_time> previous,
                                              wall_time now) const;

  /// The first time not before `from`. Unlike `next` it keeps to the interval's own grid; this is
  /// what combinations ask their members.
  [[nodiscard]] std::optional<wall_time> first_from(wall_time from) const;

  /// `next` with the jitter of that run. The same `seed` (a job's id) and time give the same
  /// jitter; it stays before the following nominal time and before the end.
  [[nodiscard]] std::optional<fire> plan(std::optional<wall_time> previous, wall_time now,
                                         std::uint64_t seed) const;

  /// Up to `count` nominal times, as `next` gives them one after the other.
  [[nodiscard]] std::vector<wall_time> upcoming(std::optional<wall_time> previous, wall_time now,
                                                std::size_t count) const;

  /// True for `@reboot`: fires once when the scheduler starts, and at no other time.
  [[nodiscard]] bool at_start() const;

  /// Largest delay added to a nominal time; 0 = none.
  [[nodiscard]] usec jitter() const;

  /// The zone its times are meant in, for showing them.
  [[nodiscard]] zone timezone() const;

  /// Bytes of memory held by the shared content, for accounting.
  [[nodiscard]] std::size_t memory() const;

  /// The rule behind it, for this folder's own use.
  [[nodiscard]] const detail::node& content() const { return *node_; }

  /// Same rule: both fire at the same times for ever.
  friend bool operator==(const trigger& a, const trigger& b);

private:
  std::shared_ptr<const detail::node> node_;
};

} // namespace lycosa::trigger
