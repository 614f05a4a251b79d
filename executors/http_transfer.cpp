#include "executors/http_transfer.hpp"

#include "executors/event_thread.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string_view>

namespace lycosa::executors {

namespace {

constexpr auto protocols = "http,https";

/// Characters of a method and of a header's name (RFC 9110, 5.6.2).
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

long milliseconds(usec t) {
  // 0 would mean "no limit" to curl.
  return static_cast<long>(std::clamp<usec::rep>((t.count() + 999) / 1000, 1, INT_MAX));
}

result<void> check_url(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> parsed(::curl_url(),
                                                                     &::curl_url_cleanup);
  if (!parsed) return fail(errc::io_error, "http", "no memory for a request");
  if (url.find('\0') != std::string::npos)
    return fail(errc::invalid_argument, "url", "holds a NUL byte");
  if (const auto rc =
          ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME);
      rc != CURLUE_OK)
    return fail(errc::invalid_argument, "url", ::curl_url_strerror(rc));
  char* scheme = nullptr;
  ::curl_url_get(parsed.get(), CURLUPART_SCHEME, &scheme, 0);
  const std::string is = scheme == nullptr ? "" : scheme;
  ::curl_free(scheme);
  if (is != "http" && is != "https")
    return fail(errc::invalid_argument, "url", "must be http or https, not '" + is + "'");
  return {};
}

bool is_json(const char* content_type) {
  if (content_type == nullptr) return false;
  std::string_view type = content_type;
  type = type.substr(0, type.find_first_of("; \t"));
  return same_name(type, "application/json") || (type.size() > 5 && type.ends_with("+json"));
}

} // namespace

http_transfer::http_transfer(jobs::run_key key, jobs::http_action action,
                             std::optional<usec> timeout, const http_options& options)
    : key_(key), action_(std::move(action)), timeout_(timeout), begun_(mono_now()),
      tail_(options.output_cap), search_(action_.expect_body) {}

result<std::unique_ptr<http_transfer>> http_transfer::make(jobs::run_key key,
                                                           jobs::http_action action,
                                                           std::optional<usec> timeout,
                                                           const http_options& options) {
  if (auto ok = check_url(action.url); !ok) return tl::unexpected(ok.error());
  if (!is_token(action.method) || action.method == "CONNECT")
    return fail(errc::invalid_argument, "method", "'" + action.method + "' is no method");
  for (const int status : action.expect_status)
    if (status < 100 || status > 599)
      return fail(errc::invalid_argument, "expect_status",
                  std::to_string(status) + " is no status");
  std::unique_ptr<http_transfer> t(new http_transfer(key, std::move(action), timeout, options));
  if (auto ok = t->prepare(options); !ok) return tl::unexpected(ok.error());
  return t;
}

result<void> http_transfer::prepare(const http_options& options) {
  easy_.reset(::curl_easy_init());
  if (!easy_) return fail(errc::io_error, "http", "no memory for a request");
  if (auto ok = add_headers(); !ok) return ok;
  CURL* c = easy_.get();
  bool good = true;
  const auto set = [&](CURLoption option, auto value) {
    good = ::curl_easy_setopt(c, option, value) == CURLE_OK && good;
  };
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, message_.data());
  set(CURLOPT_URL, action_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, protocols);
  set(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  // A 3xx that is wanted is the answer and not a way to another.
  const bool follow = action_.max_redirects > 0
                      && std::none_of(action_.expect_status.begin(), action_.expect_status.end(),
                                      [](int s) { return s >= 300 && s < 400; });
  set(CURLOPT_FOLLOWLOCATION, follow ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, static_cast<long>(std::min<std::uint32_t>(action_.max_redirects, 1000)));
  set(CURLOPT_SSL_VERIFYPEER, action_.verify_tls ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, action_.verify_tls ? 2L : 0L);
  if (!options.ca_file.empty()) set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (options.proxy) set(CURLOPT_PROXY, options.proxy->c_str());
  set(CURLOPT_USERAGENT, "lycosa");
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_WRITEFUNCTION, &http_transfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOSIGNAL, 1L);
  // A name that is still being looked up must not hold the thread when its request is given up.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
  if (timeout_) set(CURLOPT_TIMEOUT_MS, milliseconds(*timeout_));
  if (!good) return fail(errc::internal, "http", "libcurl refuses an option");
  add_method();
  return {};
}

result<void> http_transfer::add_headers() {
  bool has_type = false;
  bool has_expect = false;
  const auto add = [this](const std::string& line) {
    curl_slist* grown = ::curl_slist_append(headers_.get(), line.c_str());
    if (grown == nullptr) return false;
    (void)headers_.release();
    headers_.reset(grown);
    return true;
  };
  bool good = true;
  for (const auto& [name, value] : action_.headers) {
    // A line end inside would be a second header, or a second request.
    if (!is_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return fail(errc::invalid_argument, "headers",
                  "'" + name + "' is no name and value of a header");
    has_type = has_type || same_name(name, "Content-Type");
    has_expect = has_expect || same_name(name, "Expect");
    // curl's way to send an empty header is a semicolon.
    good = add(value.empty() ? name + ";" : name + ": " + value) && good;
  }
  // Not what curl would add: a form's type, and a wait for "100 Continue" few servers send.
  if (!has_type) good = add("Content-Type:") && good;
  if (!has_expect) good = add("Expect:") && good;
  if (!good) return fail(errc::io_error, "http", "no memory for a request");
  return {};
}

void http_transfer::add_method() {
  CURL* c = easy_.get();
  const auto& method = action_.method;
  const bool sends =
      !action_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
  if (sends) {
    ::curl_easy_setopt(c, CURLOPT_POST, 1L);
    ::curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(action_.body.size()));
    ::curl_easy_setopt(c, CURLOPT_POSTFIELDS, action_.body.data());
  } else if (method == "HEAD") {
    ::curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
  }
  // Not for these: a custom method would outlive a redirect that turns POST into GET.
  if (method != (sends ? "POST" : "GET") && !(method == "HEAD" && !sends))
    ::curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method.c_str());
}

http_transfer& http_transfer::of(CURL* handle) {
  char* self = nullptr;
  ::curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return *reinterpret_cast<http_transfer*>(self);
}

std::size_t http_transfer::on_body(char* data, std::size_t, std::size_t n, void* self) {
  auto& t = *static_cast<http_transfer*>(self);
  t.tail_.append({data, n});
  t.search_.feed({data, n});
  return n;
}

bool http_transfer::expected(long status) const {
  const auto& list = action_.expect_status;
  if (list.empty()) return status >= 200 && status < 300;
  return std::find(list.begin(), list.end(), static_cast<int>(status)) != list.end();
}

std::string http_transfer::reason(CURLcode code) const {
  std::string text = message_[0] != '\0' ? message_.data() : ::curl_easy_strerror(code);
  long system = 0;
  ::curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &system);
  if (code == CURLE_COULDNT_CONNECT && system != 0)
    text += std::string(": ") + std::strerror(static_cast<int>(system));
  return text;
}

void http_transfer::fill(jobs::run_result& r) {
  long status = 0;
  ::curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 0) r.http_status = static_cast<int>(status);
  r.output_cut = tail_.cut();
  r.output = tail_.take();
}

jobs::run_result http_transfer::cancelled() {
  jobs::run_result r;
  fill(r);
  r.outcome = jobs::run_outcome::cancelled;
  r.error = "cancelled";
  return r;
}

jobs::run_result http_transfer::outcome(CURLcode code) {
  jobs::run_result r;
  fill(r);
  // curl has one code for both limits, and rounds: told apart by the time that passed.
  constexpr usec rounding = std::chrono::milliseconds{50};
  if (code == CURLE_OPERATION_TIMEDOUT && timeout_ && mono_now() - begun_ >= *timeout_ - rounding) {
    r.outcome = jobs::run_outcome::timeout;
    r.error = fmt::format("timed out after {} s", std::chrono::duration<double>(*timeout_).count());
    return r;
  }
  if (code != CURLE_OK) {
    r.error = reason(code);
  } else if (const int status = r.http_status.value_or(0); !expected(status)) {
    r.error = fmt::format("status {}, expected {}", status,
                          action_.expect_status.empty()
                              ? "2xx"
                              : fmt::format("{}", fmt::join(action_.expect_status, " or ")));
  } else if (!search_.found()) {
    r.error = "the answer does not hold the expected text";
  }
  if (!r.error.empty()) r.outcome = jobs::run_outcome::error;
  char* type = nullptr;
  ::curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &type);
  if (!r.output_cut && is_json(type) && nlohmann::json::accept(r.output)) r.value = r.output;
  return r;
}

} // namespace lycosa::executors
