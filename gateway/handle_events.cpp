#include "gateway/handlers.hpp"

/// What happens in the node as Server-Sent Events (WHATWG HTML, 9.2).
namespace lycosa::gateway {

namespace {

constexpr std::size_t part_events = 1000;
constexpr std::size_t part_bytes = 64 * 1024;

class event_stream final : public live_body {
public:
  explicit event_stream(std::unique_ptr<actors::event_reader> from) : from_(std::move(from)) {
    keep_alive = ": nothing new\n\n";
  }
  std::optional<std::string> take() override {
    std::string out = std::exchange(greeting_, {});
    auto batch = from_->take(part_events, part_bytes);
    for (const auto& e : batch.events) {
      out += "id: ";
      out += e->id();
      out += "\nevent: ";
      out += e->type;
      out += "\ndata: ";
      out += e->json();
      out += "\n\n";
    }
    if (batch.ended && out.empty()) return std::nullopt;
    return out;
  }
  void wait(std::function<void()> wake) override { from_->wait(std::move(wake)); }

private:
  std::unique_ptr<actors::event_reader> from_;
  /// Whoever has got this misses nothing that happens from now on.
  std::string greeting_ = ": following\n\n";
};

std::string text(const std::string* argument) {
  return argument == nullptr ? std::string{} : *argument;
}

} // namespace

void stream_events(service& s, const request& r, const exchange_ptr& x) {
  auto& hub = s.node.events();
  const auto types = hub.types_of(text(r.argument("types")));
  if (!types) return answer_now(x, problem(types.error()));
  std::optional<std::string_view> after;
  if (!r.last_event_id.empty()) after = r.last_event_id;
  const auto* asked = r.argument("last_event_id");
  if (!after && asked != nullptr && !asked->empty()) after = *asked;
  auto from = hub.read({*types, text(r.argument("project")), text(r.argument("job"))}, after);
  if (!from) return answer_now(x, problem(from.error()));
  response out;
  out.content_type = "text/event-stream";
  out.headers.emplace_back("Cache-Control", "no-store");
  out.headers.emplace_back("X-Accel-Buffering", "no"); // nginx would gather the parts
  out.live = std::make_shared<event_stream>(std::move(*from));
  out.live->keep_alive_after = s.event_keep_alive;
  answer_now(x, std::move(out));
}

} // namespace lycosa::gateway
