#pragma once

#include "conf/settings.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lycosa::conf {

/// Where a key's value lives in `settings`; the pointer's type decides how it is read and printed.
using field =
    std::variant<std::string*, bool*, std::uint64_t*, usec*, bytes*, std::vector<std::string>*,
                 std::map<std::string, std::string>*, executor_map*, retry_policy*>;

/// What becomes of a key that is set to something else than its default.
enum class effect {
  at_start, ///< takes effect when the node starts
  reserved, ///< accepted with a warning, does nothing in this version
  refused,  ///< ignoring it would be dangerous, so it is an error in this version
};

/// One configuration key. The default is what a fresh `settings` holds at `get`.
struct key_info {
  std::string_view section;
  std::string_view name;
  field (*get)(settings&);
  std::string_view meaning; ///< a sentence or two for the person who edits the file
  std::string_view unit;    ///< of a plain number; empty where the type says it
  /// Bounds of numbers (in units), durations (µs) and sizes (bytes).
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string_view> choices{}; ///< the only texts allowed, where not empty
  effect takes = effect::at_start;
  bool address = false; ///< a text `HOST:PORT`

  [[nodiscard]] std::string path() const;
};

/// Every key, in the order of the reference file.
[[nodiscard]] std::span<const key_info> all_keys();

/// One line about each section, in the order of the reference file. Includes `caf`, whose keys are
/// CAF's own.
struct section_info {
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] std::span<const section_info> all_sections();

[[nodiscard]] const key_info* find_key(std::string_view path);

/// The known key or section whose name is closest to `name`; empty when nothing is near.
[[nodiscard]] std::string nearest_key(std::string_view path);

/// "duration", "size", "number", …
[[nodiscard]] std::string_view type_name(const key_info& key);

/// "1ms to 1h", "1 to 64", "\"sync\" or \"async\"", … in words.
[[nodiscard]] std::string range_text(const key_info& key);

} // namespace lycosa::conf
