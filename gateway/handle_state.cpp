#include "gateway/handlers.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

namespace lycosa::gateway {

void show_size(service& s, const request&, const exchange_ptr& x) {
  s.node.list_projects(answering<std::vector<actors::project_view>>(
      x, [](const std::vector<actors::project_view>& all) {
        std::uint64_t size = 0;
        std::string each = "{";
        for (const auto& v : all) {
          size += v.size();
          append_key(each, v.record.name);
          each += "{\"ready\":";
          append_unsigned(each, v.ready);
          each += ",\"delayed\":";
          append_unsigned(each, v.delayed);
          each += ",\"processing\":";
          append_unsigned(each, v.processing);
          each += ",\"on_disk\":";
          append_unsigned(each, v.on_disk);
          each += '}';
        }
        return json("{\"size\":" + std::to_string(size) + ",\"projects\":" + each + "}}");
      }));
}

/// Alive: the thread that answers runs. Nothing else is asked, so that a node that is busy or
/// loading is not killed for it.
void show_health(service&, const request&, const exchange_ptr& x) {
  answer_now(x, json(R"({"status":"ok"})"));
}

void show_readiness(service& s, const request&, const exchange_ptr& x) {
  s.node.health(answering<actors::health_view>(x, [](const actors::health_view& h) {
    std::string b = "\"ready\":";
    b += h.ready ? "true" : "false";
    b += ",\"why\":";
    append_string(b, h.why);
    b += ",\"queues_loading\":";
    append_unsigned(b, h.queues_loading);
    b += ",\"tasks\":";
    append_unsigned(b, h.tasks);
    b += ",\"tasks_loaded\":";
    append_unsigned(b, h.tasks_loaded);
    if (!h.ready) return problem(503, h.why.empty() ? "not ready yet" : h.why, {}, b);
    return json("{" + b + "}");
  }));
}

} // namespace lycosa::gateway
