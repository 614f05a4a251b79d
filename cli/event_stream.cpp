#include "cli/event_stream.hpp"

#include "cli/client.hpp"

#include <curl/curl.h>

#include <memory>
#include <utility>

namespace lycosa::cli {

namespace {

struct transfer {
  CURL* curl;
  sse_reader& events;
  std::string refusal; ///< body of an answer other than 200
};

std::size_t receive(char* data, std::size_t size, std::size_t count, void* user) {
  auto& t = *static_cast<transfer*>(user);
  long status = 0;
  ::curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return t.events.feed({data, size * count}) ? size * count : 0;
  t.refusal.append(data, size * count);
  return size * count;
}

} // namespace

bool sse_reader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t at = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
    if (!line(std::string_view{rest_}.substr(at, end - at))) return false;
    at = end + 1;
  }
  rest_.erase(0, at);
  return true;
}

bool sse_reader::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) {
    const auto e = std::exchange(now_, {});
    return e.data.empty() || on_event_(e);
  }
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") now_.id = value;
  if (name == "event") now_.type = value;
  if (name == "data") now_.data = value;
  return true;
}

stream_end follow(const std::string& server, const std::string& path, const std::string& last_id,
                  const std::function<bool(const stream_event&)>& on_event) {
  static const auto ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> held(
      ready == CURLE_OK ? ::curl_easy_init() : nullptr, &::curl_easy_cleanup);
  auto* curl = held.get();
  if (!curl) return {false, {failed, "curl", "cannot be started"}};
  sse_reader events(on_event);
  transfer t{curl, events, {}};
  char reason[CURL_ERROR_SIZE] = "";
  auto url = server;
  while (url.ends_with('/'))
    url.pop_back();
  if (url.find("://") == std::string::npos) url = "http://" + url;
  url += path;
  curl_slist* headers = ::curl_slist_append(nullptr, "Accept: text/event-stream");
  if (!last_id.empty())
    headers = ::curl_slist_append(headers, ("Last-Event-ID: " + last_id).c_str());
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 5L);
  // The node sends something every events.keep_alive; a line that is dead for longer is given up.
  ::curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 120L);
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
  const auto code = ::curl_easy_perform(curl);
  ::curl_slist_free_all(headers);
  http_answer answer;
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  if (answer.status == 200) return {true, {failed, server, "the stream ended"}};
  if (code == CURLE_OK) {
    answer.body = std::move(t.refusal);
    return {false, to_failure("events", answer)};
  }
  const std::string why = *reason ? reason : ::curl_easy_strerror(code);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
    return {false, {bad_input, "--server " + server, why}};
  return {false, {unreachable, server, why}};
}

} // namespace lycosa::cli
