#include "gateway/response_head.hpp"

#include <cstdio>
#include <ctime>

namespace lycosa::gateway {
namespace {

/// Made once a second.
std::string_view date_now() {
  const auto now = std::time(nullptr);
  thread_local std::time_t shown = 0;
  thread_local char text[32] = "";
  if (now != shown) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    shown = now;
  }
  return text;
}

} // namespace

std::string response_head(const response& r, const framing& how) {
  std::string head;
  head.reserve(256 + (r.body.size() < short_body ? r.body.size() : 0));
  head += "HTTP/1.1 ";
  head += std::to_string(r.status);
  head += ' ';
  head += status_title(r.status);
  head += "\r\nServer: lycosa\r\nDate: ";
  head += date_now();
  head += "\r\nContent-Type: ";
  head += r.content_type;
  if (!how.parts && r.status != 304) // there it would be the length of what is not sent
    head += "\r\nContent-Length: " + std::to_string(r.body.size());
  else if (how.parts && how.chunks)
    head += "\r\nTransfer-Encoding: chunked";
  for (const auto& [name, value] : r.headers)
    head += "\r\n" + name + ": " + value;
  if (!how.keep)
    head += "\r\nConnection: close";
  else if (!how.chunks)
    head += "\r\nConnection: keep-alive";
  head += "\r\n\r\n";
  return head;
}

void append_part(std::string& out, std::string_view part, bool chunks) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", part.size());
  if (chunks) out += size;
  out += part;
  if (chunks) out += "\r\n";
}

} // namespace lycosa::gateway
