#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lycosa::actors {

/// What has changed about the time.
enum class time_change : std::uint8_t {
  clock, ///< the wall clock was set, or the machine woke up
  zones, ///< files of the time-zone database were replaced
};

/// What a watch looks at. The defaults are the machine's; tests have their own.
struct time_sources {
  /// Folders of time zones, with all below them, and files that are replaced as a whole; they need
  /// not exist yet if what they are in does. None given = those that the triggers read.
  std::vector<std::string> zone_folders;
  /// Opens a descriptor that becomes readable when the clock is set; -1 = there is none. It is
  /// closed by the watch.
  std::function<int()> open_clock;
  /// Takes up what made the descriptor readable. True when the clock was set.
  std::function<bool(int)> clock_was_set;
};

/// Tells at once of changes that a program which waits for a time would sleep through. One thread,
/// asleep until there is something to tell. What the system does not let it watch is logged and not
/// told: whoever relies on it should also look now and then.
class time_watch {
public:
  /// Called on the watch's thread, never twice at a time; must not block. The many changes that an
  /// upgrade of the database makes are told together, within two seconds of the first.
  using handler = std::function<void(time_change)>;

  /// Watches from now on: what changes after this has returned is told.
  explicit time_watch(handler told, time_sources sources = {});
  /// After this nothing is told. Not to be called by the handler.
  ~time_watch();
  time_watch(const time_watch&) = delete;
  time_watch& operator=(const time_watch&) = delete;

private:
  class watcher;
  std::unique_ptr<watcher> watcher_;
};

} // namespace lycosa::actors
