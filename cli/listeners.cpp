#include "cli/listeners.hpp"

#include "actors/project_events.hpp"
#include "executors/http_executor.hpp"

#include <utility>

namespace lycosa::cli {

namespace {

error named(const error& e, std::string key) {
  return {e.code, std::move(key), e.what.empty() ? e.why : e.what + ": " + e.why};
}

/// Without types and headers.
bridges::webhook_config config_of(const conf::events_settings& s, const std::string& name) {
  bridges::webhook_config c;
  c.name = name;
  c.url = s.webhooks.at(name);
  c.timeout = s.webhook_timeout;
  return c;
}

} // namespace

std::vector<error> check_listeners(const conf::events_settings& s) {
  const actors::event_hub hub(actors::all_event_types(), 1);
  std::vector<error> out;
  const auto look = [&](const auto& r, const std::string& key) {
    if (!r) out.push_back(named(r.error(), key));
  };
  if (!s.log.empty()) look(bridges::check_event_log(s.log, hub), "events.log");
  for (const auto& [name, url] : s.webhooks)
    look(bridges::check_webhook(config_of(s, name), hub), "events.webhooks." + name);
  for (const auto& [name, types] : s.webhook_types)
    look(hub.types_of(types), "events.webhook_types." + name);
  for (const auto& [name, headers] : s.webhook_headers)
    look(bridges::parse_headers(headers), "events.webhook_headers." + name);
  const auto known = [&](const std::map<std::string, std::string>& given, const char* key) {
    for (const auto& [name, _] : given)
      if (!s.webhooks.contains(name))
        out.push_back({errc::invalid_argument, key + name,
                       "there is no webhook of this name in events.webhooks"});
  };
  known(s.webhook_types, "events.webhook_types.");
  known(s.webhook_headers, "events.webhook_headers.");
  return out;
}

result<void> listeners::start(const conf::events_settings& s, actors::event_hub& hub) {
  if (auto wrong = check_listeners(s); !wrong.empty()) return tl::unexpected(wrong.front());
  if (!s.log.empty())
    if (auto ok = add(bridges::start_event_log(s.log, hub), "events.log"); !ok) return ok;
  if (s.webhooks.empty()) return {};
  auto sender = executors::make_http_executor();
  if (!sender) return tl::unexpected(sender.error());
  sender_ = std::move(*sender);
  for (const auto& [name, _] : s.webhooks) {
    auto c = config_of(s, name);
    if (const auto i = s.webhook_types.find(name); i != s.webhook_types.end()) c.types = i->second;
    if (const auto i = s.webhook_headers.find(name); i != s.webhook_headers.end())
      c.headers = *bridges::parse_headers(i->second); // checked above
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
  if (!made) return tl::unexpected(named(made.error(), key));
  all_.push_back(std::move(*made));
  return {};
}

} // namespace lycosa::cli
