#include "bridges/backoff.hpp"
#include "bridges/event_pump.hpp"
#include <spdlog/spdlog.h>

#include <atomic>
#include <future>

namespace lycosa::bridges {

namespace {

/// What a post may take when the node is about to end.
constexpr usec last_wait = std::chrono::seconds{1};

std::string list_of(const std::vector<actors::hub_event_ptr>& events) {
  std::string out = "[";
  for (const auto& e : events) {
    if (out.size() > 1) out += ",\n";
    // The id stands first in the event's own object.
    out += "{\"id\":\"" + e->id() + "\"," + e->json().substr(1);
  }
  return out + "]";
}

class poster {
public:
  poster(webhook_config config, std::shared_ptr<jobs::executor> sender)
      : config_(std::move(config)), sender_(std::move(sender)),
        pause_(std::hash<std::string>{}(config_.url), config_.first_pause, config_.longest_pause) {}

  bool post(const std::vector<actors::hub_event_ptr>& events, event_pump::control& c) {
    const auto body = list_of(events);
    for (;;) {
      const bool last = c.stopping();
      if (last && pause_.failures() > 0) return give_up(events.size());
      const auto r = send(body, c);
      if (r.outcome == jobs::run_outcome::success) {
        if (pause_.failures() >= loud_failures)
          spdlog::info("webhook {}: takes events again", config_.name);
        pause_.succeeded();
        return true;
      }
      if (c.stopping()) return give_up(events.size());
      const auto wait = pause_.next();
      if (pause_.failures() <= loud_failures)
        spdlog::warn("webhook {}: {}; tried again", config_.name, r.error);
      (void)c.sleep(wait);
    }
  }

private:
  bool give_up(std::size_t n) {
    spdlog::warn("webhook {}: ends with {} events or more not taken", config_.name, n);
    return false;
  }

  jobs::run_result send(const std::string& body, event_pump::control& c) {
    static std::atomic<std::uint64_t> last_key{0}; // the sender is shared
    jobs::http_action a;
    a.method = "POST";
    a.url = config_.url;
    a.headers = config_.headers;
    a.headers.emplace_back("Content-Type", "application/json");
    a.body = body;
    a.max_redirects = 0;
    jobs::run_request request;
    request.key = jobs::run_key{++last_key};
    request.action = std::move(a);
    request.timeout = config_.timeout;
    const auto key = request.key;
    auto answer = std::make_shared<std::promise<jobs::run_result>>();
    auto later = answer->get_future();
    sender_->start(std::move(request), [answer, shared = c.shared_from_this()](jobs::run_result r) {
      answer->set_value(std::move(r));
      shared->poke();
    });
    const auto answered = [&] {
      return later.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    };
    c.wait_for(answered);
    if (!answered() && later.wait_for(last_wait) != std::future_status::ready) sender_->cancel(key);
    return later.get();
  }

  webhook_config config_;
  std::shared_ptr<jobs::executor> sender_;
  backoff pause_;
};

} // namespace

result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    at = end + 1;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.pop_back();
    if (line.empty()) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon == 0)
      return fail(errc::invalid_argument, "headers",
                  "'" + line + "' is not of the form Name: value");
    const auto value = line.find_first_not_of(' ', colon + 1);
    out.emplace_back(line.substr(0, colon), value == std::string::npos ? "" : line.substr(value));
  }
  return out;
}

result<void> check_webhook(const webhook_config& config, const actors::event_hub& hub) {
  if (!config.url.starts_with("http://") && !config.url.starts_with("https://"))
    return fail(errc::invalid_argument, "url", "'" + config.url + "' is not http:// or https://");
  if (const auto wanted = hub.types_of(config.types); !wanted)
    return tl::unexpected(wanted.error());
  return {};
}

result<std::unique_ptr<event_listener>> start_webhook(webhook_config config, actors::event_hub& hub,
                                                      std::shared_ptr<jobs::executor> sender) {
  if (auto ok = check_webhook(config, hub); !ok) return tl::unexpected(ok.error());
  const auto wanted = hub.types_of(config.types);
  auto from = hub.read({*wanted, {}, {}}, "0");
  if (!from) return tl::unexpected(from.error());
  const auto batch = config.batch;
  auto to = std::make_shared<poster>(std::move(config), std::move(sender));
  return std::make_unique<event_pump>(std::move(*from), batch,
                                      [to](const std::vector<actors::hub_event_ptr>& events,
                                           event_pump::control& c) { return to->post(events, c); });
}

} // namespace lycosa::bridges
