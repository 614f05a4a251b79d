#pragma once

#include "actors/node.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::gateway {

/// pyspider's names of the counter windows: 5m_time, 5m, 1h, 1d, all.
[[nodiscard]] std::optional<actors::counter_set> parse_counter_set(std::string_view name) noexcept;

/// `{project: {event: number}}`, with pyspider's names of the events. Of 5m_time those are
/// fetch_time and process_time (seconds).
[[nodiscard]] std::string counters_json(actors::counter_set set,
                                        const std::vector<actors::counter_view>& all);

} // namespace lycosa::gateway
