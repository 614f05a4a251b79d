#pragma once

#include "actors/node.hpp"
#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::gateway {

inline constexpr std::array<std::string_view, 33> project_members{"name",
                                                                  "group",
                                                                  "status",
                                                                  "rate",
                                                                  "burst",
                                                                  "script",
                                                                  "script_md5",
                                                                  "comments",
                                                                  "min_tick",
                                                                  "retry_delay",
                                                                  "crawl_config",
                                                                  "queue_limit",
                                                                  "queue_window",
                                                                  "retain_age",
                                                                  "retain_count",
                                                                  "updatetime",
                                                                  "deleting",
                                                                  "paused",
                                                                  "size",
                                                                  "ready",
                                                                  "delayed",
                                                                  "processing",
                                                                  "on_disk",
                                                                  "counters",
                                                                  "refused",
                                                                  "next_at",
                                                                  "gate",
                                                                  "handled",
                                                                  "counters.5m_time",
                                                                  "counters.5m",
                                                                  "counters.1h",
                                                                  "counters.1d",
                                                                  "counters.all"};

/// The bit that stands for a member. Precondition, checked by the compiler: there is such a one.
[[nodiscard]] consteval std::uint64_t member_bit(std::string_view name) {
  for (std::size_t i = 0; i < project_members.size(); ++i)
    if (project_members[i] == name) return std::uint64_t{1} << i;
  throw "no such member";
}

/// Which members of a project an answer has. A list of thousands that is asked for again and again
/// is small when it has what is looked at only.
class project_fields {
public:
  /// All that a project has, but for `handled`, which is there when it is named.
  project_fields() = default;
  /// `name,rate,counters.5m`: the name is always there. Error: what is unknown, and what there is.
  [[nodiscard]] static result<project_fields> parse(std::string_view list);

  [[nodiscard]] bool has(std::uint64_t bits) const { return (wanted_ & bits) != 0; }

private:
  std::uint64_t wanted_ = ~member_bit("handled");
};

/// Appends a project's object.
void append_project(std::string& to, const actors::project_view& v, const project_fields& fields);

/// Appends the sums of all projects' numbers as an object.
void append_totals(std::string& to, const std::vector<actors::project_view>& all);

} // namespace lycosa::gateway
