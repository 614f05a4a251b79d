#include "cli/client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace lycosa::cli {

namespace {

/// How long one call may be put off by 429 answers before it is given up.
constexpr std::chrono::minutes patience{5};

std::size_t append(char* data, std::size_t size, std::size_t count, void* user) {
  static_cast<std::string*>(user)->append(data, size * count);
  return size * count;
}

bool starts_with_no_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size()
         && std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) {
              return std::tolower(static_cast<unsigned char>(a))
                     == std::tolower(static_cast<unsigned char>(b));
            });
}

std::size_t read_header(char* data, std::size_t size, std::size_t count, void* user) {
  constexpr std::string_view name = "retry-after:";
  std::string line{data, size * count};
  if (starts_with_no_case(line, name))
    static_cast<http_answer*>(user)->retry_after = std::strtod(line.c_str() + name.size(), nullptr);
  return size * count;
}

/// Members that are texts, in the order a person wants them.
std::string text_of(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

} // namespace

struct client::handle {
  CURL* curl = nullptr;
  handle() {
    // Once a process; this program's commands have one thread.
    static const auto ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready == CURLE_OK) curl = ::curl_easy_init();
  }
  ~handle() { ::curl_easy_cleanup(curl); }
};

client::client(std::string server)
    : server_(std::move(server)), handle_(std::make_unique<handle>()) {
  while (!server_.empty() && server_.back() == '/')
    server_.pop_back();
  if (server_.find("://") == std::string::npos) server_ = "http://" + server_;
}

client::~client() = default;

outcome<http_answer> client::send(std::string_view method, std::string_view path,
                                  std::string_view body, std::string_view content_type) {
  auto* curl = handle_->curl;
  if (!curl) return tl::unexpected(failure{failed, "curl", "cannot be started"});
  http_answer answer;
  char reason[CURL_ERROR_SIZE] = "";
  auto url = server_ + std::string{path};
  auto verb = std::string{method};
  auto type = "Content-Type: " + std::string{content_type};

  ::curl_easy_reset(curl); // options only: the connection stays
  curl_slist* headers = ::curl_slist_append(nullptr, "Accept: application/json");
  headers = ::curl_slist_append(headers, "Expect:"); // no extra round trip before large bodies
  if (!body.empty()) headers = ::curl_slist_append(headers, type.c_str());
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, verb.c_str());
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 5L);
  // A node that is alive sends something within a minute, even under load.
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  ::curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
  ::curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
  if (!body.empty() || verb == "POST" || verb == "PUT") {
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
    ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  }
  auto code = ::curl_easy_perform(curl);
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  ::curl_slist_free_all(headers);

  if (code == CURLE_OK) return answer;
  std::string why = *reason ? reason : ::curl_easy_strerror(code);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
    return tl::unexpected(failure{bad_input, "--server " + server_, why});
  return tl::unexpected(failure{unreachable, server_, why});
}

outcome<std::string> client::call(std::string_view method, std::string_view path,
                                  std::string_view body, std::string_view content_type) {
  auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto answer = send(method, path, body, content_type);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status >= 200 && answer->status < 300) return std::move(answer->body);
    if (answer->status != 429 || std::chrono::steady_clock::now() > give_up)
      return tl::unexpected(to_failure(std::string{method} + " " + std::string{path}, *answer));
    auto wait = std::clamp(answer->retry_after, 0.1, 30.0);
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
  }
}

outcome<json> client::call_json(std::string_view method, std::string_view path,
                                std::string_view body, std::string_view content_type) {
  auto text = call(method, path, body, content_type);
  if (!text) return tl::unexpected(text.error());
  auto parsed = json::parse(*text, nullptr, false);
  if (parsed.is_discarded())
    return tl::unexpected(failure{failed, server_, "the answer is not JSON; is this Lycosa?"});
  return parsed;
}

std::string url_encode(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-_.~";
  constexpr std::string_view hex = "0123456789ABCDEF";
  // As a path segment these would be read as "here" and "up".
  if (text == "." || text == "..") return text.size() == 1 ? "%2E" : "%2E%2E";
  std::string out;
  for (char c : text) {
    if (plain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += {'%', hex[byte >> 4], hex[byte & 15]};
  }
  return out;
}

failure to_failure(std::string_view what, const http_answer& answer) {
  failure f;
  f.code =
      answer.status == 400 || answer.status == 413 || answer.status == 422 ? bad_input : failed;
  f.what = what;
  auto document = json::parse(answer.body, nullptr, false);
  if (document.is_object()) {
    f.why = text_of(document, "detail");
    if (f.why.empty()) f.why = text_of(document, "title");
    auto errors = document.find("errors");
    if (errors != document.end() && errors->is_array())
      for (const auto& e : *errors) {
        if (!e.is_object()) continue;
        auto field = text_of(e, "field");
        auto reason = text_of(e, "reason");
        // The first says enough when the detail only repeats it.
        if (f.why.find(reason) != std::string::npos) continue;
        f.why += (f.why.empty() ? "" : "; ") + (field.empty() ? "" : field + ": ") + reason;
      }
  }
  if (f.why.empty()) f.why = "HTTP status " + std::to_string(answer.status);
  return f;
}

} // namespace lycosa::cli
