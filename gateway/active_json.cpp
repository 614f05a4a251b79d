#include "gateway/active_json.hpp"

#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <nlohmann/json.hpp>

namespace lycosa::gateway {
namespace {

using json_value = nlohmann::ordered_json;

/// What pyspider shows of a track: the outcome of both halves, and what the script saved.
json_value shown_track(const std::string& track) {
  const auto whole = json_value::parse(track, nullptr, false);
  json_value out = json_value::object();
  if (!whole.is_object()) return out;
  for (const char* part : {"fetch", "process"}) {
    const auto found = whole.find(part);
    if (found == whole.end() || !found->is_object()) continue;
    auto& to = out[part] = json_value::object();
    for (const char* key : {"ok", "time", "follows", "status_code"})
      if (const auto member = found->find(key); member != found->end()) to[key] = *member;
  }
  if (const auto save = whole.find("save"); save != whole.end()) out["save"] = *save;
  return out;
}

void append_entry(std::string& to, const actors::active_entry& e) {
  to += '[';
  append_seconds(to, e.at.time_since_epoch());
  to += ",{\"type\":1,\"taskid\":";
  append_string(to, e.taskid);
  to += ",\"project\":";
  append_string(to, e.project);
  to += ",\"status\":";
  append_unsigned(to, static_cast<unsigned>(e.status));
  to += ",\"url\":";
  append_string(to, e.url);
  to += ",\"lastcrawltime\":";
  append_seconds(to, e.lastcrawltime.time_since_epoch());
  to += ",\"updatetime\":";
  append_seconds(to, e.updatetime.time_since_epoch());
  if (!e.track.empty()) {
    to += ",\"track\":";
    to += shown_track(e.track).dump();
  }
  to += "}]";
}

} // namespace

std::string active_json(const std::vector<actors::active_entry>& all) {
  std::string body = "[";
  for (const auto& e : all) {
    if (body.size() > 1) body += ',';
    append_entry(body, e);
  }
  body += ']';
  return body;
}

} // namespace lycosa::gateway
