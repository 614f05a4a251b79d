#include "core/messages/crawl_config.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace lycosa {

namespace {

// pyspider's `fetch_keys` and `process_keys`, with the robots and redirect ones of its last
// release.
constexpr std::array<std::string_view, 21> fetch_keys{"method",
                                                      "headers",
                                                      "user_agent",
                                                      "data",
                                                      "connect_timeout",
                                                      "timeout",
                                                      "allow_redirects",
                                                      "cookies",
                                                      "proxy",
                                                      "etag",
                                                      "last_modifed",
                                                      "last_modified",
                                                      "save",
                                                      "js_run_at",
                                                      "js_script",
                                                      "js_viewport_width",
                                                      "js_viewport_height",
                                                      "load_images",
                                                      "fetch_type",
                                                      "use_gzip",
                                                      "validate_cert"};
constexpr std::array<std::string_view, 2> more_fetch_keys{"max_redirects", "robots_txt"};
constexpr std::array<std::string_view, 2> process_keys{"callback", "process_time_limit"};

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& keys, std::string_view name) {
  return std::ranges::find(keys, name) != keys.end();
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::size_t skip_blanks(std::string_view s, std::size_t at) {
  while (at < s.size() && is_blank(s[at]))
    ++at;
  return at;
}

/// Past the closing quote of a string that begins at `at`.
std::size_t skip_string(std::string_view s, std::size_t at) {
  for (++at; at < s.size() && s[at] != '"'; ++at)
    if (s[at] == '\\') ++at;
  return std::min(at + 1, s.size());
}

std::size_t skip_value(std::string_view s, std::size_t at) {
  std::size_t depth = 0;
  while (at < s.size()) {
    const char c = s[at];
    if (c == '"') {
      at = skip_string(s, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at; // the end of what holds this value
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || is_blank(c))) {
      return at;
    }
    ++at;
  }
  return at;
}

bool is_object(std::string_view s) {
  const auto at = skip_blanks(s, 0);
  return at < s.size() && s[at] == '{';
}

using members_of = std::vector<std::pair<std::string_view, std::string_view>>;

bool has_member(const members_of& members, std::string_view name) {
  return std::ranges::find(members, name, &members_of::value_type::first) != members.end();
}

/// `object` with more members at its end.
std::string with_members(std::string_view object, std::string_view more) {
  const auto close = object.rfind('}');
  std::string out{object.substr(0, close)};
  if (!json_members(object).empty()) out += ',';
  out += more;
  out += '}';
  return out;
}

void add(std::string& members, std::string_view name, std::string_view value) {
  if (!members.empty()) members += ',';
  members += '"';
  members += name;
  members += "\":";
  members += value;
}

/// Those of `config`'s members that `own` has not.
std::string lacking_members(std::string_view own, std::string_view config) {
  const auto have = json_members(own);
  std::string out;
  for (const auto& [name, value] : json_members(config))
    if (!has_member(have, name)) add(out, name, value);
  return out;
}

} // namespace

std::vector<std::pair<std::string_view, std::string_view>> json_members(std::string_view object) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  auto at = skip_blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return out;
  ++at;
  for (;;) {
    at = skip_blanks(object, at);
    if (at >= object.size() || object[at] != '"') return out;
    const auto name_at = at + 1;
    at = skip_string(object, at);
    const auto name = object.substr(name_at, at - name_at - 1);
    at = skip_blanks(object, at);
    if (at >= object.size() || object[at] != ':') return out;
    at = skip_blanks(object, at + 1);
    const auto value_at = at;
    at = skip_value(object, at);
    out.emplace_back(name, object.substr(value_at, at - value_at));
    at = skip_blanks(object, at);
    if (at >= object.size() || object[at] != ',') return out;
    ++at;
  }
}

crawl_config::crawl_config(std::string_view text) {
  for (const auto& [name, value] : json_members(text)) {
    if (one_of(fetch_keys, name) || one_of(more_fetch_keys, name))
      fetch_.push_back({std::string{name}, std::string{value}});
    else if (one_of(process_keys, name))
      process_.push_back({std::string{name}, std::string{value}});
  }
}

bool crawl_config::join(const std::vector<member>& config, std::string_view text,
                        std::string& out) {
  if (config.empty() || (!text.empty() && !is_object(text))) return false;
  const auto own = json_members(text);
  std::string members;
  bool changed = false;
  for (const auto& [name, value] : own) {
    const auto theirs = std::ranges::find(config, name, &member::name);
    const bool both = theirs != config.end() && is_object(value) && is_object(theirs->value);
    const auto lacking = both ? lacking_members(value, theirs->value) : std::string{};
    add(members, name, lacking.empty() ? std::string{value} : with_members(value, lacking));
    changed = changed || !lacking.empty();
  }
  for (const auto& m : config) {
    if (has_member(own, m.name)) continue;
    add(members, m.name, m.value);
    changed = true;
  }
  if (changed) out = '{' + members + '}';
  return changed;
}

} // namespace lycosa
