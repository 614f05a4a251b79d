#include "bridges/event_pump.hpp"
#include <spdlog/spdlog.h>

namespace lycosa::bridges {

namespace {

result<std::uint64_t> wanted_of(const std::string& types, const actors::event_hub& hub) {
  return hub.types_of(types == "all" ? std::string_view{} : types);
}

} // namespace

result<void> check_event_log(const std::string& types, const actors::event_hub& hub) {
  if (const auto wanted = wanted_of(types, hub); !wanted) return tl::unexpected(wanted.error());
  return {};
}

result<std::unique_ptr<event_listener>> start_event_log(std::string types, actors::event_hub& hub) {
  const auto wanted = wanted_of(types, hub);
  if (!wanted) return tl::unexpected(wanted.error());
  auto from = hub.read({*wanted, {}, {}}, "0"); // what the node's start told is in it
  if (!from) return tl::unexpected(from.error());
  auto to = spdlog::get("events");
  if (!to) to = spdlog::default_logger();
  return std::make_unique<event_pump>(
      std::move(*from), 1000,
      [to](const std::vector<actors::hub_event_ptr>& events, event_pump::control&) {
        for (const auto& e : events)
          to->info("{} {}", e->id(), e->json());
        return true;
      });
}

} // namespace lycosa::bridges
