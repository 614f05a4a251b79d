#include "gateway/origin.hpp"

#include <algorithm>
#include <cctype>

namespace lycosa::gateway {
namespace {

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Without the port that the scheme has anyway.
std::string_view authority(std::string_view text, std::string_view usual_port) {
  if (text.ends_with(usual_port)) text.remove_suffix(usual_port.size());
  return text;
}

} // namespace

bool is_cross_site(const request_origin& from) {
  if (from.method == "GET" || from.method == "HEAD") return false;
  if (!from.fetch_site.empty())
    return from.fetch_site != "same-origin" && from.fetch_site != "none";
  if (from.origin.empty()) return false;
  const auto scheme = from.origin.find("://");
  if (scheme == std::string_view::npos) return true; // "null": a page that hides where it is from
  const auto usual_port = same_text(from.origin.substr(0, scheme), "https") ? ":443" : ":80";
  return !same_text(authority(from.origin.substr(scheme + 3), usual_port),
                    authority(from.host, usual_port));
}

} // namespace lycosa::gateway
