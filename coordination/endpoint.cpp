#include "coordination/endpoint.hpp"

#include <charconv>

namespace lycosa::coordination {

std::string endpoint::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (tls ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) + ":"
         + std::to_string(port);
}

result<endpoint> parse_endpoint(std::string_view text) {
  const auto wrong = [whole = std::string(text)](const char* why) {
    return fail(errc::invalid_argument, "endpoint '" + whole + "'", why);
  };
  endpoint e;
  e.port = 2379;
  if (text.starts_with("https://")) {
    e.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.find("://") != std::string_view::npos) {
    return wrong("begins neither with http:// nor with https://");
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  auto port = std::string_view{};
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return wrong("the bracket is not closed");
    e.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return wrong("behind the bracket is no port");
  } else {
    const auto colon = text.find(':');
    e.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (e.host.empty()) return wrong("there is no host");
  if (e.host.find_first_of("/?#@ \t\r\n") != std::string::npos)
    return wrong("is more than a host and a port");
  if (!port.empty()) {
    port.remove_prefix(1);
    const auto* end = port.data() + port.size();
    const auto [at, ec] = std::from_chars(port.data(), end, e.port);
    if (ec != std::errc{} || at != end || e.port == 0) return wrong("the port is no number");
  }
  return e;
}

} // namespace lycosa::coordination
