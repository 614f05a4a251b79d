#include "crawl/robots.hpp"

#include <algorithm>
#include <cctype>

namespace lycosa::crawl {

namespace {

constexpr std::size_t most_bytes = std::size_t{500} << 10;

std::string lower(std::string_view s) {
  std::string out{s};
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

/// Whether a pattern matches the beginning of a path. Greedy matching of `*` with one place to go
/// back to: linear in the path for each star, never exponential.
bool matches(std::string_view pattern, std::string_view path) {
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  std::size_t p = 0, at = 0;
  std::size_t star = std::string_view::npos, star_at = 0;
  while (p < pattern.size() || (to_end && at < path.size())) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_at = at;
    } else if (p < pattern.size() && at < path.size() && pattern[p] == path[at]) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos && star_at < path.size()) {
      p = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  return true;
}

} // namespace

robots::robots(std::string_view text) {
  text = text.substr(0, most_bytes);
  bool agents_go_on = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = lower(trimmed(line.substr(0, colon)));
    const auto value = trimmed(line.substr(colon + 1));
    if (key == "user-agent") {
      if (!agents_go_on) groups_.emplace_back();
      groups_.back().agents.push_back(lower(value));
      agents_go_on = true;
    } else if (key == "allow" || key == "disallow") {
      agents_go_on = false;
      // An empty value says nothing.
      if (!groups_.empty() && !value.empty())
        groups_.back().rules.push_back({key == "allow", std::string{value}});
    }
  }
}

bool robots::allows(std::string_view agent, std::string_view path) const {
  if (path == "/robots.txt") return true;
  const auto token = lower(agent.substr(0, agent.find_first_of("/ (")));
  const auto names = [](const group& g, std::string_view name) {
    return std::ranges::find(g.agents, name) != g.agents.end();
  };
  const bool named = std::ranges::any_of(groups_, [&](const group& g) { return names(g, token); });
  const rule* best = nullptr;
  for (const auto& g : groups_) {
    if (!names(g, named ? std::string_view{token} : std::string_view{"*"})) continue;
    for (const auto& r : g.rules) {
      if (!matches(r.pattern, path)) continue;
      if (best == nullptr || r.pattern.size() > best->pattern.size()
          || (r.pattern.size() == best->pattern.size() && r.allow))
        best = &r;
    }
  }
  return best == nullptr || best->allow;
}

} // namespace lycosa::crawl
