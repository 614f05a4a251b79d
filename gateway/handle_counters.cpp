#include "gateway/counters_json.hpp"
#include "gateway/handlers.hpp"

namespace lycosa::gateway {

void show_counters(service& s, const request& r, const exchange_ptr& x) {
  const auto set = parse_counter_set(r.captured[0]);
  if (!set)
    return answer_now(x, problem(404, "no such window; there are 5m_time, 5m, 1h, 1d and all"));
  const auto* type = r.argument("type");
  if (type != nullptr && *type != "sum" && *type != "avg")
    return answer_now(x, problem(error{errc::invalid_argument, "type", "must be sum or avg"}));
  const auto kind = type != nullptr && *type == "avg" ? counter_kind::avg : counter_kind::sum;
  s.node.counters(*set, kind,
                  answering<std::vector<actors::counter_view>>(
                      x, [set = *set](const std::vector<actors::counter_view>& all) {
                        return json(counters_json(set, all));
                      }));
}

} // namespace lycosa::gateway
