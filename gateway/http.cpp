#include "gateway/http.hpp"

#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

namespace lycosa::gateway {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

/// Calls `each` with what stands between the separators; stops when it returns false.
template <class F>
bool split(std::string_view text, char separator, F each) {
  for (;;) {
    const auto at = text.find(separator);
    if (!each(text.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    text.remove_prefix(at + 1);
  }
}

bool names_lines(std::string_view media) {
  return media.find("ndjson") != std::string_view::npos
         || media.find("jsonl") != std::string_view::npos
         || media.find("json-seq") != std::string_view::npos;
}

} // namespace

unsigned status_of(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument:
    return 400;
  case errc::not_found:
    return 404;
  case errc::conflict:
  case errc::stale_lease:
    return 409;
  case errc::too_large:
    return 413;
  case errc::busy:
    return 429;
  case errc::unavailable:
    return 503;
  case errc::no_space:
    return 507;
  case errc::corrupt:
  case errc::incompatible:
  case errc::io_error:
  case errc::internal:
    return 500;
  }
  return 500;
}

const std::string* request::argument(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

bool request::wants_lines() const {
  return names_lines(accept);
}

bool request::sends_lines() const {
  return names_lines(content_type);
}

bool parse_target(std::string_view target, request& into) {
  // The absolute form, as sent to proxies, counts as its path.
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const auto slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  into.target = target;
  const auto mark = target.find('?');
  const auto path = target.substr(0, mark);
  into.path = path;
  const bool path_ok = split(path.substr(1), '/', [&](std::string_view part) {
    auto decoded = percent_decode(part, false);
    if (!decoded) return false;
    into.segments.push_back(std::move(*decoded));
    return true;
  });
  if (!path_ok) return false;
  if (mark == std::string_view::npos) return true;
  return split(target.substr(mark + 1), '&', [&](std::string_view part) {
    if (part.empty()) return true;
    const auto equals = part.find('=');
    auto key = percent_decode(part.substr(0, equals), true);
    auto value = percent_decode(
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1), true);
    if (!key || !value) return false;
    into.query.emplace_back(std::move(*key), std::move(*value));
    return true;
  });
}

std::string_view status_title(unsigned status) noexcept {
  switch (status) {
  case 200:
    return "OK";
  case 201:
    return "Created";
  case 202:
    return "Accepted";
  case 204:
    return "No Content";
  case 304:
    return "Not Modified";
  case 400:
    return "Bad Request";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 409:
    return "Conflict";
  case 413:
    return "Content Too Large";
  case 415:
    return "Unsupported Media Type";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 503:
    return "Service Unavailable";
  case 507:
    return "Insufficient Storage";
  default:
    return "Internal Server Error";
  }
}

response problem(unsigned status, std::string_view detail, const std::vector<field_error>& errors,
                 std::string_view more) {
  response r;
  r.status = status;
  r.content_type = "application/problem+json";
  if (status == 429 || status == 503) r.headers.emplace_back("Retry-After", "1");
  auto& b = r.body;
  b = R"({"type":"about:blank","title":)";
  append_string(b, status_title(status));
  b += ",\"status\":";
  append_unsigned(b, status);
  b += ",\"detail\":";
  append_string(b, detail);
  if (!errors.empty()) {
    b += ",\"errors\":[";
    for (const auto& e : errors) {
      if (b.back() == '}') b += ',';
      b += "{\"index\":";
      append_unsigned(b, e.index);
      b += ",\"field\":";
      append_string(b, e.field);
      b += ",\"reason\":";
      append_string(b, e.reason);
      b += '}';
    }
    b += ']';
  }
  if (!more.empty()) {
    b += ',';
    b += more;
  }
  b += '}';
  return r;
}

response problem(const error& e, std::string_view more) {
  std::vector<field_error> errors;
  if (e.code == errc::invalid_argument && !e.what.empty()) errors.push_back({0, e.what, e.why});
  return problem(status_of(e.code), e.text(), errors, more);
}

response json(std::string body, unsigned status) {
  response r;
  r.status = status;
  r.body = std::move(body);
  return r;
}

} // namespace lycosa::gateway
