#include "core/jobs/actor_name.hpp"

#include <algorithm>
#include <charconv>

namespace lycosa::jobs {

namespace {

constexpr std::size_t longest_name = 10; // CAF 0.17 packs it into 64 bits
constexpr std::size_t longest_host = 253;

bool alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether all of `text` is letters, digits or one of `more`.
bool made_of(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return alphanumeric(c) || more.find(c) != std::string_view::npos;
  });
}

} // namespace

std::string actor_name::endpoint() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

result<actor_name> parse_actor_name(std::string_view text, std::string_view field) {
  const auto refuse = [&](std::string why) {
    return fail(errc::invalid_argument, std::string(field), std::move(why));
  };
  actor_name out;
  const auto at = text.find('@');
  out.name = text.substr(0, at);
  if (out.name.empty()) return refuse("the actor's name is missing");
  if (out.name.size() > longest_name || !made_of(out.name, "_"))
    return refuse("an actor's name is 1 to 10 letters, digits and underscores");
  if (at == std::string_view::npos) return out;

  const auto place = text.substr(at + 1);
  std::string_view port;
  if (place.starts_with('[')) {
    const auto end = place.find(']');
    if (end == std::string_view::npos || !place.substr(end + 1).starts_with(':'))
      return refuse("expected NAME@[ADDRESS]:PORT");
    out.host = place.substr(1, end - 1);
    port = place.substr(end + 2);
    if (out.host.find(':') == std::string::npos || !made_of(out.host, ":.%"))
      return refuse("what is in brackets is no IPv6 address");
  } else {
    const auto colon = place.find(':');
    if (colon == std::string_view::npos) return refuse("the port is missing: NAME@HOST:PORT");
    out.host = place.substr(0, colon);
    port = place.substr(colon + 1);
    if (port.find(':') != std::string_view::npos)
      return refuse("an IPv6 address is written in brackets: NAME@[ADDRESS]:PORT");
    if (out.host.empty()) return refuse("the host is missing: NAME@HOST:PORT");
    if (out.host.size() > longest_host || !made_of(out.host, ".-_"))
      return refuse("\"" + out.host + "\" is no host");
  }
  const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (port.empty() || ec != std::errc{} || end != port.data() + port.size() || out.port == 0)
    return refuse("the port is a number from 1 to 65535");
  return out;
}

} // namespace lycosa::jobs
