#pragma once

#include "conf/load.hpp"

#include <string>

namespace lycosa::conf {

struct print_options {
  bool sources = false; ///< say where a value that is not the default comes from
};

/// The settings as a TOML file that loads to the same settings again, with a comment for each key:
/// meaning, type, unit, range, default.
[[nodiscard]] std::string print(const loaded& config, print_options options = {});

/// `conf/reference.toml`: every key at its default.
[[nodiscard]] std::string reference();

} // namespace lycosa::conf
