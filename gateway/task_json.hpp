#pragma once

#include "actors/node.hpp"
#include "gateway/outline.hpp"
#include "gateway/server.hpp"

#include <span>
#include <string>

namespace lycosa::gateway {

/// Why an item was not taken: the field (may be empty) and the reason.
struct rejection {
  std::string field;
  std::string reason;
  errc code = errc::invalid_argument;
};

/// The objects to open in a task and in a report.
[[nodiscard]] std::span<const std::string_view> task_paths() noexcept;
[[nodiscard]] std::span<const std::string_view> report_paths() noexcept;

/// A task as clients send it. The views point into the body and the arena.
tl::expected<task, rejection> read_task(const outline& item, text_arena& arena,
                                        const limits_config& limits);

/// A whole record, for an import: with status (number or name), track, lastcrawltime, updatetime.
tl::expected<task, rejection> read_whole_task(const outline& item, text_arena& arena,
                                              const limits_config& limits);

/// A status pack. `lease` that is no lease of ours is rejected as "stale lease".
tl::expected<actors::report_item, rejection> read_report(const outline& item, text_arena& arena,
                                                         const limits_config& limits);

/// The task id of an item if it has a readable one; for messages.
[[nodiscard]] std::string taskid_of(const outline& item);

/// Appends the members of a task, without braces.
void append_task(std::string& to, const task& t);
void append_leased(std::string& to, const actors::leased_task& t);

[[nodiscard]] std::string_view status_name(task_status s) noexcept;
[[nodiscard]] std::optional<task_status> parse_status(std::string_view name) noexcept;

} // namespace lycosa::gateway
