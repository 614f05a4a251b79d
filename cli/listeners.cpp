#include "cli/listeners.hpp"

#include "executors/http_executor.hpp"

#include <utility>

namespace lycosa::cli {

namespace {

result<void> named(error e, const std::string& key) {
  return tl::unexpected(error{e.code, key, e.what.empty() ? e.why : e.what + ": " + e.why});
}

} // namespace

result<void> listeners::start(const conf::events_settings& s, actors::event_hub& hub) {
  if (!s.log.empty())
    if (auto ok = add(bridges::start_event_log(s.log, hub), "events.log"); !ok) return ok;
  for (const auto* given : {&s.webhook_types, &s.webhook_headers})
    for (const auto& [name, _] : *given)
      if (!s.webhooks.contains(name))
        return fail(errc::invalid_argument, "events.webhooks", "there is none named " + name);
  if (s.webhooks.empty()) return {};
  auto sender = executors::make_http_executor();
  if (!sender) return tl::unexpected(sender.error());
  sender_ = std::move(*sender);
  for (const auto& [name, url] : s.webhooks) {
    bridges::webhook_config c;
    c.name = name;
    c.url = url;
    c.timeout = s.webhook_timeout;
    if (const auto i = s.webhook_types.find(name); i != s.webhook_types.end()) c.types = i->second;
    if (const auto i = s.webhook_headers.find(name); i != s.webhook_headers.end()) {
      auto headers = bridges::parse_headers(i->second);
      if (!headers) return named(headers.error(), "events.webhook_headers." + name);
      c.headers = std::move(*headers);
    }
    auto ok = add(bridges::start_webhook(std::move(c), hub, sender_), "events.webhooks." + name);
    if (!ok) return ok;
  }
  return {};
}

void listeners::stop() {
  for (const auto& one : all_)
    one->begin_stop();
  all_.clear();
}

result<void> listeners::add(result<std::unique_ptr<bridges::event_listener>> made,
                            const std::string& key) {
  if (!made) return named(made.error(), key);
  all_.push_back(std::move(*made));
  return {};
}

} // namespace lycosa::cli
