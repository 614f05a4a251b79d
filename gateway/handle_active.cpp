#include "gateway/active_json.hpp"
#include "gateway/handlers.hpp"

namespace lycosa::gateway {

void show_active(service& s, const request& r, const exchange_ptr& x) {
  const auto limit = read_limit(r);
  if (!limit) return answer_now(x, problem(limit.error()));
  const auto* project = r.argument("project");
  s.node.active_tasks(
      project == nullptr ? std::string{} : *project, *limit,
      answering<std::vector<actors::active_entry>>(
          x, [](const std::vector<actors::active_entry>& all) { return json(active_json(all)); }));
}

} // namespace lycosa::gateway
