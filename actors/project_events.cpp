#include "actors/project_events.hpp"

#include "core/jobs/event.hpp"

namespace lycosa::actors {

std::vector<std::string> all_event_types() {
  auto all = jobs::event_names();
  for (auto& name : project_event_names())
    all.push_back(std::move(name));
  return all;
}

void tell(event_hub* hub, project_event_kind what, const project_record& about, wall_time at,
          std::string why) {
  if (!hub) return;
  static const auto first = static_cast<unsigned>(jobs::event_names().size());
  project_event e{what, at, about.name, about.status, std::move(why)};
  event_item item;
  item.type = first + static_cast<unsigned>(what);
  item.at = at;
  item.project = e.project;
  item.bytes = 512 + e.reason.size();
  item.json = [e = std::move(e)] { return to_json(e); };
  std::vector<event_item> one;
  one.push_back(std::move(item));
  hub->publish(std::move(one));
}

} // namespace lycosa::actors
