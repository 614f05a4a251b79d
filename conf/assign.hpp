#pragma once

#include "conf/keys.hpp"
#include "core/result.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>

/// From a TOML value to a member of `settings`. Internal to conf: toml++ stays behind it.
namespace lycosa::conf {

/// Puts `value` where `key` lives. The error's `why` says what was expected.
[[nodiscard]] result<void> assign(settings& s, const key_info& key, const toml::node& value);

/// Reads a scalar for CAF.
[[nodiscard]] result<caf_value> to_caf_value(const toml::node& value);

} // namespace lycosa::conf
