#include "bridges/redis_url.hpp"

#include <curl/curl.h>

#include <charconv>
#include <memory>
#include <optional>

namespace lycosa::bridges {

namespace {

tl::unexpected<error> bad(std::string why) {
  return fail(errc::invalid_argument, "redis.url", std::move(why));
}

struct url_deleter {
  void operator()(CURLU* u) const { curl_url_cleanup(u); }
};

/// A part of the URL, decoded; none if it is absent.
std::optional<std::string> part(CURLU* url, CURLUPart what, unsigned flags = CURLU_URLDECODE) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK || text == nullptr) return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// The options after `?`.
result<void> read_query(std::string_view query, redis_address& to) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto option = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(option.find('='), option.size());
    const auto name = option.substr(0, equals);
    const auto value = option.substr(std::min(equals + 1, option.size()));
    if (name == "db") {
      const auto n = number(value);
      if (!n) return bad("db is not a number");
      to.database = *n;
    } else if (name == "ca") {
      to.ca_file = value;
    } else if (name == "verify" && (value == "no" || value == "yes")) {
      to.verify = value == "yes";
    } else {
      return bad("unknown option \"" + std::string{option} + "\"; known: db=N, ca=FILE, verify=no");
    }
  }
  return {};
}

} // namespace

std::string redis_address::display() const {
  if (!unix_socket.empty()) return "unix://" + unix_socket + "?db=" + std::to_string(database);
  return std::string{tls ? "rediss://" : "redis://"} + host + ":" + std::to_string(port) + "/"
         + std::to_string(database);
}

result<redis_address> parse_redis_url(std::string_view text) {
  if (constexpr std::string_view unix_scheme = "unix://"; text.starts_with(unix_scheme)) {
    text.remove_prefix(unix_scheme.size());
    redis_address a;
    const auto query = std::min(text.find('?'), text.size());
    a.unix_socket = text.substr(0, query);
    if (!a.unix_socket.starts_with('/')) return bad("the path of a unix socket begins with /");
    if (auto ok = read_query(text.substr(std::min(query + 1, text.size())), a); !ok)
      return tl::unexpected(ok.error());
    return a;
  }
  const std::unique_ptr<CURLU, url_deleter> url{curl_url()};
  const std::string whole{text};
  if (!url
      || curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), CURLU_NON_SUPPORT_SCHEME)
             != CURLUE_OK)
    return bad("is not a URL such as redis://127.0.0.1:6379/0");
  redis_address a;
  const auto scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  const auto path = part(url.get(), CURLUPART_PATH).value_or("");
  if (auto ok = read_query(part(url.get(), CURLUPART_QUERY).value_or(""), a); !ok)
    return tl::unexpected(ok.error());
  a.user = part(url.get(), CURLUPART_USER).value_or("");
  a.password = part(url.get(), CURLUPART_PASSWORD).value_or("");
  if (scheme != "redis" && scheme != "rediss")
    return bad("must begin with redis://, rediss:// or unix://");
  a.tls = scheme == "rediss";
  a.host = part(url.get(), CURLUPART_HOST).value_or("");
  if (a.host.size() > 2 && a.host.front() == '[') a.host = a.host.substr(1, a.host.size() - 2);
  if (a.host.find(',') != std::string::npos)
    return bad("names several hosts; a cluster is not supported, name one server");
  if (const auto port = part(url.get(), CURLUPART_PORT)) {
    const auto n = number(*port);
    if (!n || *n == 0 || *n > 65535) return bad("the port is not one");
    a.port = static_cast<std::uint16_t>(*n);
  }
  if (path.size() > 1) {
    const auto n = number(std::string_view{path}.substr(1));
    if (!n) return bad("the database after the host must be a number");
    a.database = *n;
  }
  return a;
}

} // namespace lycosa::bridges
