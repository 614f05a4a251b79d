#include "crawl/transfer.hpp"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace lycosa::crawl {

namespace {

using nlohmann::json;

constexpr long no_answer = 599; ///< pyspider's, and Tornado's before it

std::string text_of(const json& options, const char* name) {
  const auto found = options.find(name);
  return found != options.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<double> number_of(const json& options, const char* name) {
  const auto found = options.find(name);
  if (found == options.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

bool flag_of(const json& options, const char* name, bool otherwise) {
  const auto found = options.find(name);
  return found != options.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

} // namespace

transfer::transfer(fetch_request request, const fetcher_config& config,
                   std::function<void(fetched)> done)
    : request_(std::move(request)), max_body_(config.max_body), done_(std::move(done)),
      curl_(curl_easy_init()) {
  got_.orig_url = request_.url;
  configure(config);
}

void transfer::add_header(const std::string& line) {
  auto* grown = curl_slist_append(headers_.get(), line.c_str());
  if (grown == nullptr) return;
  static_cast<void>(headers_.release());
  headers_.reset(grown);
}

void transfer::configure(const fetcher_config& config) {
  auto* c = curl_.get();
  auto options =
      request_.fetch.empty() ? json::object() : json::parse(request_.fetch, nullptr, false);
  if (!options.is_object()) options = json::object();
  const auto track = json::parse(request_.track.empty() ? "{}" : request_.track, nullptr, false);

  curl_easy_setopt(c, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_COOKIEFILE, ""); // cookies set on the way are sent on the way
  if (flag_of(options, "use_gzip", true)) curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, flag_of(options, "allow_redirects", true) ? 1L : 0L);
  curl_easy_setopt(
      c, CURLOPT_MAXREDIRS,
      static_cast<long>(
          number_of(options, "max_redirects").value_or(static_cast<double>(config.max_redirects))));
  if (!flag_of(options, "validate_cert", true)) {
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  const auto seconds = [&](const char* name, usec otherwise) {
    const auto own = number_of(options, name);
    return static_cast<long>(own && *own > 0 ? *own * 1000
                                             : static_cast<double>(otherwise.count()) / 1000);
  };
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                   seconds("connect_timeout", config.connect_timeout));
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, seconds("timeout", config.timeout));

  auto agent = text_of(options, "user_agent");
  bool has_agent = false;
  if (const auto headers = options.find("headers");
      headers != options.end() && headers->is_object())
    for (const auto& [name, value] : headers->items()) {
      const auto text = value_text(value);
      if (name.find_first_of("\r\n:") != std::string::npos
          || text.find_first_of("\r\n") != std::string::npos) {
        why_ = "fetch.headers: a name or value that no header can have";
        return;
      }
      has_agent = has_agent || same_name(name, "User-Agent");
      // An empty value would take the header away: `Name;` sends it empty.
      add_header(text.empty() ? name + ";" : name + ": " + text);
    }
  if (!has_agent)
    curl_easy_setopt(c, CURLOPT_USERAGENT, (agent.empty() ? config.user_agent : agent).c_str());

  // Conditional, when the last crawl was processed well.
  auto etag = text_of(options, "etag");
  auto modified = text_of(options, "last_modified");
  if (track.is_object()) {
    const bool good = track.value("/process/ok"_json_pointer, false);
    const auto last = track.value("/fetch/headers"_json_pointer, json::object());
    if (good && last.is_object()) {
      if (etag.empty() && flag_of(options, "etag", true)) etag = text_of(last, "etag");
      if (modified.empty() && flag_of(options, "last_modified", true))
        modified = text_of(last, "last-modified");
    }
  }
  if (!etag.empty()) add_header("If-None-Match: " + etag);
  if (!modified.empty()) add_header("If-Modified-Since: " + modified);

  if (const auto cookies = options.find("cookies");
      cookies != options.end() && cookies->is_object()) {
    std::string line;
    for (const auto& [name, value] : cookies->items())
      line += (line.empty() ? "" : "; ") + name + "=" + value_text(value);
    if (!line.empty()) curl_easy_setopt(c, CURLOPT_COOKIE, line.c_str());
  }
  if (const auto proxy = text_of(options, "proxy"); !proxy.empty())
    curl_easy_setopt(c, CURLOPT_PROXY, proxy.c_str());

  const auto method = text_of(options, "method");
  const auto data = text_of(options, "data");
  if (!data.empty() || method == "POST") {
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(data.size()));
    curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, data.c_str());
  }
  if (method == "HEAD") curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
  if (!method.empty() && method != "GET" && method != "POST" && method != "HEAD")
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method.c_str());
  if (headers_) curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers_.get());

  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &transfer::take_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &transfer::take_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, this);
}

std::size_t transfer::take_body(char* bytes, std::size_t size, std::size_t n, void* self) {
  auto& t = *static_cast<transfer*>(self);
  if (t.got_.content.size() + size * n > t.max_body_) {
    t.why_ = "the answer is larger than " + std::to_string(t.max_body_) + " bytes";
    return 0;
  }
  t.got_.content.append(bytes, size * n);
  return size * n;
}

std::size_t transfer::take_header(char* bytes, std::size_t size, std::size_t n, void* self) {
  auto& t = *static_cast<transfer*>(self);
  std::string_view line{bytes, size * n};
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    t.got_.headers.clear(); // a redirect's were before
    t.got_.content.clear();
    return size * n;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size * n;
  std::string name{line.substr(0, colon)};
  const auto start = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
  std::string value{line.substr(start)};
  if (same_name(name, "Set-Cookie")) {
    const auto pair = std::string_view{value}.substr(0, value.find(';'));
    if (const auto equals = pair.find('='); equals != std::string_view::npos)
      t.got_.cookies.emplace_back(std::string{pair.substr(0, equals)},
                                  std::string{pair.substr(equals + 1)});
  }
  t.got_.headers.emplace_back(std::move(name), std::move(value));
  return size * n;
}

void transfer::finish(CURLcode code) {
  auto* c = curl_.get();
  if (code != CURLE_OK) return fail(why_.empty() ? curl_easy_strerror(code) : why_);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &got_.status);
  const char* url = nullptr;
  curl_easy_getinfo(c, CURLINFO_EFFECTIVE_URL, &url);
  got_.url = url != nullptr ? url : request_.url;
  curl_easy_getinfo(c, CURLINFO_TOTAL_TIME, &got_.seconds);
  done_(std::move(got_));
}

void transfer::fail(const std::string& why) {
  auto out = not_fetched(request_.url, why);
  curl_easy_getinfo(curl_.get(), CURLINFO_TOTAL_TIME, &out.seconds);
  done_(std::move(out));
}

fetched not_fetched(const std::string& url, const std::string& why) {
  fetched f;
  f.status = no_answer;
  f.url = f.orig_url = url;
  f.error = why;
  return f;
}

fetched from_data_url(const std::string& url) {
  fetched f;
  f.status = 200;
  f.url = f.orig_url = url;
  const auto comma = url.find(',');
  if (comma == std::string::npos) return not_fetched(url, "a data: URL without a comma");
  const auto head = url.substr(5, comma - 5);
  int size = 0;
  char* plain = curl_easy_unescape(nullptr, url.c_str() + comma + 1, 0, &size);
  if (plain != nullptr) f.content.assign(plain, static_cast<std::size_t>(size));
  curl_free(plain);
  if (head.ends_with(";base64")) {
    std::string bytes(f.content.size() / 4 * 3 + 3, '\0');
    const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                  reinterpret_cast<const unsigned char*>(f.content.data()),
                                  static_cast<int>(f.content.size()));
    if (n < 0) return not_fetched(url, "a data: URL that is not base64");
    const auto padding = f.content.size() - std::min(f.content.find('='), f.content.size());
    bytes.resize(static_cast<std::size_t>(n) - std::min<std::size_t>(padding, 2));
    f.content = std::move(bytes);
  }
  return f;
}

} // namespace lycosa::crawl
