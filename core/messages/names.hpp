#pragma once

#include <string_view>

/// pyspider's names for what the scheduler itself asks of a project's script.
namespace lycosa {

inline constexpr std::string_view get_info_id = "_on_get_info";
inline constexpr std::string_view tick_id = "_on_cronjob";
inline constexpr std::string_view on_finished_id = "on_finished";

} // namespace lycosa
