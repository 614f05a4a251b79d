#pragma once

#include "conf/settings.hpp"
#include "core/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::conf {

/// One thing wrong with a configuration.
struct problem {
  std::string where; ///< `file:line`, the environment variable's name, or `--set`
  std::string key;   ///< `section.key`; empty when the text itself cannot be read
  std::string reason;

  /// `where: key: reason`
  [[nodiscard]] std::string text() const;
};

/// What to read. Later layers beat earlier ones: defaults, file, environment, `sets`.
struct load_request {
  /// File named by the user: must exist. None = `./conf/lycosa.toml`, then
  /// `/etc/lycosa/lycosa.toml`, then no file.
  std::optional<std::string> file;
  /// Look for the usual files when none is named.
  bool search = true;
  /// Variables `LYCOSA_SECTION__KEY`; others are passed over.
  std::vector<std::pair<std::string, std::string>> environment;
  /// `section.key=value` each; the value is TOML, or a text when it is not.
  std::vector<std::string> sets;
};

struct loaded {
  settings values;
  std::string file; ///< that was read; empty = none
  /// Where each key that is not at its default layer was set, e.g. `conf/lycosa.toml:12`.
  std::map<std::string, std::string, std::less<>> sources;
  std::vector<problem> warnings; ///< keys that are accepted and have no effect

  /// Where the value of `section.key` comes from; "default" when nobody set it.
  [[nodiscard]] std::string source_of(std::string_view path) const;
};

/// Reads all layers. On failure every problem found, in the order of the layers.
[[nodiscard]] tl::expected<loaded, std::vector<problem>> load(const load_request& request);

/// The environment of this process.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> process_environment();

} // namespace lycosa::conf
