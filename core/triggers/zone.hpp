#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <array>
#include <span>
#include <string_view>

namespace lycosa::trigger {

/// A reading of a wall clock somewhere: a date and a time of day without an offset.
using local_time = std::chrono::local_time<usec>;

/// A stretch of time in which a zone's clocks keep one offset from UTC.
struct offset_span {
  wall_time begin;             ///< first instant of the span
  wall_time end;               ///< first instant after it
  std::chrono::seconds offset; ///< local time minus UTC, positive east of Greenwich

  [[nodiscard]] local_time to_local(wall_time t) const {
    return local_time{t.time_since_epoch() + offset};
  }
  [[nodiscard]] wall_time to_wall(local_time t) const {
    return wall_time{t.time_since_epoch() - offset};
  }
};

/// No instant of a zone's local time differs by more than this from the same reading in UTC, with
/// room for a change of offset beside it.
inline constexpr std::chrono::hours offset_margin{27};

namespace detail {
struct zone_slot;
}

/// A time zone of the IANA database. Pointer-sized, cheap to copy and compare, valid for the whole
/// run of the program, and shared by all threads. After `reload_zones` every handle shows the new
/// rules; nobody has to look it up again.
class zone {
public:
  /// UTC.
  zone();

  /// Finds a zone by its IANA name ("Europe/Berlin") or alias ("US/Eastern").
  /// Fails with `invalid_argument` when the database has no such zone.
  [[nodiscard]] static result<zone> find(std::string_view name);

  /// The machine's own zone; UTC when it has none.
  [[nodiscard]] static zone local();

  [[nodiscard]] std::string_view name() const;

  /// The span an instant lies in.
  [[nodiscard]] offset_span at(wall_time t) const;

  /// The instants at which the zone's clocks show `t`, in order: none when it lies in a gap, two
  /// when the clocks were set back over it.
  struct instants {
    std::array<wall_time, 4> at;
    unsigned count = 0;
  };
  [[nodiscard]] instants find_instants(local_time t) const;

  friend bool operator==(zone, zone) = default;

private:
  explicit zone(const detail::zone_slot* slot) : slot_(slot) {}
  const detail::zone_slot* slot_;
};

/// Reads the machine's time-zone database again. Returns true when the rules of a zone in use have
/// changed, or the machine has another zone now, so that whoever holds planned times must plan them
/// again. Not for the hot path: the old tables stay in memory, as searches on other threads may
/// still read them.
bool reload_zones();

/// Where the machine's time-zone database may be: absolute paths, in the order in which they are
/// looked through. Whoever watches them for changes knows when to call `reload_zones`.
[[nodiscard]] std::span<const std::string_view> zone_folders();
/// The files that say which zone is the machine's; they are replaced when that changes.
[[nodiscard]] std::span<const std::string_view> local_zone_files();

} // namespace lycosa::trigger
