#include "core/project_event.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace lycosa {

namespace {

/// By `project_event_kind`.
constexpr std::array<std::string_view, 7> names{
    "PROJECT_ADDED",   "PROJECT_MODIFIED", "PROJECT_REMOVED", "PROJECT_PAUSED",
    "PROJECT_RESUMED", "PROJECT_FINISHED", "PROJECT_GIVEN_UP"};

} // namespace

std::vector<std::string> project_event_names() {
  return {names.begin(), names.end()};
}

std::string to_json(const project_event& e) {
  nlohmann::ordered_json o;
  o["type"] = names[static_cast<std::size_t>(e.kind)];
  o["at"] = static_cast<double>(e.at.time_since_epoch().count()) / 1e6;
  o["project"] = e.project;
  o["status"] = to_string(e.status);
  if (!e.reason.empty()) o["reason"] = e.reason;
  return o.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace lycosa
