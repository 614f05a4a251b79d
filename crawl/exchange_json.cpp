#include "crawl/exchange_json.hpp"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>

namespace lycosa::crawl {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t shown_content = 500; ///< characters of a page that failed
constexpr std::size_t shown_logs = 1000;
constexpr std::size_t shown_exception = 4000; ///< its end says what happened

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json part_of(std::string_view text) {
  auto part = json::parse(text.empty() ? "{}" : text, nullptr, false);
  return part.is_object() ? part : json::object();
}

bool is_text(const std::string& bytes) {
  // dump() in its strict mode throws at what is not UTF-8.
  try {
    static_cast<void>(json(bytes).dump());
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

/// None: not JSON. `too_deep` is set for what is nested deeper than `deepest_answer`: writing such
/// a value would take as much of the stack.
std::optional<json> parse_answer(const std::string& text, bool& too_deep) {
  auto value = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json&) {
        const bool opens =
            event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        if (opens && depth >= deepest_answer) too_deep = true;
        return !too_deep;
      },
      false);
  if (too_deep || !value.is_object()) return std::nullopt;
  return value;
}

json pairs(const std::vector<std::pair<std::string, std::string>>& all) {
  auto out = json::object();
  for (const auto& [name, value] : all)
    out[name] = value;
  return out;
}

std::string header(const fetched& f, std::string_view wanted) {
  for (const auto& [name, value] : f.headers)
    if (std::ranges::equal(name, wanted, [](unsigned char a, unsigned char b) {
          return std::tolower(a) == std::tolower(b);
        }))
      return value;
  return {};
}

std::string text_of(const json& value, const char* name) {
  const auto found = value.find(name);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

} // namespace

std::string_view end_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  auto from = text.size() - most;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0U) == 0x80)
    ++from; // not in the middle of a character
  return text.substr(from);
}

std::string to_request(const actors::leased_task& t, const fetched& f) {
  auto task = json::object();
  task["project"] = t.record.project;
  task["taskid"] = t.record.taskid;
  task["url"] = t.record.url;
  task["fetch"] = part_of(t.record.fetch);
  task["process"] = part_of(t.record.process);
  task["track"] = part_of(t.record.track);
  auto& sched = task["schedule"] = json::object();
  sched["priority"] = t.record.sched.priority;
  sched["retries"] = t.record.sched.retries;
  sched["retried"] = t.record.sched.retried;
  sched["age"] = std::chrono::duration<double>(t.record.sched.age).count();
  if (t.record.sched.itag) sched["itag"] = *t.record.sched.itag;
  auto response = json::object();
  response["status_code"] = f.status;
  response["url"] = f.url;
  response["orig_url"] = f.orig_url;
  response["headers"] = pairs(f.headers);
  response["cookies"] = pairs(f.cookies);
  if (is_text(f.content))
    response["content"] = f.content;
  else
    response["content_base64"] = base64(f.content);
  response["time"] = f.seconds;
  if (task["fetch"].contains("save")) response["save"] = task["fetch"]["save"];
  if (!f.error.empty()) response["error"] = f.error;
  return dumped(json{{"task", std::move(task)}, {"response", std::move(response)}});
}

std::optional<std::string> robots_wish(const task& t) {
  if (t.fetch.find("robots_txt") == std::string_view::npos || t.url.starts_with("data:"))
    return std::nullopt;
  const auto fetch = part_of(t.fetch);
  if (const auto wish = fetch.find("robots_txt");
      wish == fetch.end() || !wish->is_boolean() || !wish->get<bool>())
    return std::nullopt;
  auto agent = text_of(fetch, "user_agent");
  if (const auto headers = fetch.find("headers"); headers != fetch.end() && headers->is_object())
    if (auto named = text_of(*headers, "User-Agent"); !named.empty()) agent = std::move(named);
  return agent;
}

result<script_answer> read_answer(const std::string& text, const std::string& project) {
  bool too_deep = false;
  const auto parsed = parse_answer(text, too_deep);
  if (!parsed)
    return fail(errc::invalid_argument, "script",
                too_deep ? "its answer is nested too deeply" : "its answer is not JSON");
  const auto& value = *parsed;
  script_answer a;
  if (const auto ok = value.find("ok"); ok != value.end()) {
    if (!ok->is_boolean())
      return fail(errc::invalid_argument, "script", "ok: must be true or false");
    a.ok = ok->get<bool>();
  }
  a.logs = text_of(value, "logs");
  a.exception = text_of(value, "exception");
  if (const auto t = value.find("time"); t != value.end() && t->is_number())
    a.seconds = t->get<double>();
  if (const auto r = value.find("result"); r != value.end() && !r->is_null()) a.result = dumped(*r);
  if (const auto s = value.find("save"); s != value.end() && !s->is_null()) a.save = dumped(*s);
  if (const auto follows = value.find("follows"); follows != value.end() && follows->is_array())
    for (auto task : *follows) {
      if (!task.is_object())
        return fail(errc::invalid_argument, "script", "a follow is not an object");
      if (!task.contains("project")) task["project"] = project;
      a.follows.push_back(dumped(task));
    }
  if (const auto messages = value.find("messages"); messages != value.end() && messages->is_array())
    for (const auto& m : *messages)
      if (m.is_array() && m.size() >= 2 && m[0].is_string())
        a.messages.push_back(
            {m[0].get<std::string>(),
             m.size() > 2 && m[2].is_string() ? m[2].get<std::string>() : "data:,on_message",
             dumped(m[1])});
  return a;
}

std::string to_track(const fetched& f, const script_answer& a) {
  auto fetch = json::object();
  fetch["ok"] = f.ok();
  fetch["redirect_url"] = f.url != f.orig_url ? json(f.url) : json();
  fetch["time"] = f.seconds;
  fetch["error"] = f.error.empty() ? json() : json(f.error);
  fetch["status_code"] = f.status;
  auto headers = json::object();
  for (const auto* name : {"etag", "last-modified"})
    if (auto value = header(f, name); !value.empty()) headers[name] = std::move(value);
  fetch["headers"] = std::move(headers);
  fetch["content"] = a.ok ? json() : json(f.content.substr(0, shown_content));
  auto process = json::object();
  process["ok"] = a.ok;
  process["time"] = a.seconds;
  process["follows"] = a.follows.size();
  process["result"] = a.result.empty() ? json() : json(a.result.substr(0, 10));
  process["logs"] = end_of(a.logs, shown_logs);
  process["exception"] = a.exception.empty() ? json() : json(end_of(a.exception, shown_exception));
  auto track = json{{"fetch", std::move(fetch)}, {"process", std::move(process)}};
  if (!a.save.empty()) track["save"] = json::parse(a.save, nullptr, false);
  return dumped(track);
}

} // namespace lycosa::crawl
