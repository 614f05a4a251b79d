#pragma once

#include "core/types.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::crawl {

struct fetcher_config {
  std::size_t concurrency = 100;                   ///< fetches at a time
  std::size_t per_host = 8;                        ///< connections to one host
  std::string user_agent = "lycosa";               ///< where neither task nor project name one
  usec connect_timeout = std::chrono::seconds{20}; ///< where the task names none
  usec timeout = std::chrono::seconds{120};        ///< likewise, for the whole fetch
  std::size_t max_body = std::size_t{32} << 20;    ///< bytes; more is an error
  std::size_t max_redirects = 5;                   ///< where the task names none
};

/// What to fetch: a task's parts as JSON text. `fetch` holds pyspider's options (method, headers,
/// user_agent, data, connect_timeout, timeout, allow_redirects, max_redirects, cookies, proxy,
/// etag, last_modified, validate_cert, use_gzip); of `track` the headers of the last good crawl
/// make the request conditional, as in pyspider's fetcher.
struct fetch_request {
  std::string url;
  std::string fetch;
  std::string track;
};

/// What came of it. `status` 599 and `error` when nothing came, as pyspider's fetcher has it.
struct fetched {
  long status = 0;
  std::string url; ///< after redirects
  std::string orig_url;
  std::vector<std::pair<std::string, std::string>> headers; ///< of the last answer
  std::vector<std::pair<std::string, std::string>> cookies;
  std::string content;
  double seconds = 0;
  std::string error; ///< empty = an answer came
  [[nodiscard]] bool ok() const { return error.empty() && status >= 200 && status < 400; }
};

/// Fetches over HTTP on one thread (libcurl's multi interface). `data:` URLs need no network.
class fetcher {
public:
  static std::unique_ptr<fetcher> make(const fetcher_config& config);
  virtual ~fetcher() = default; ///< stops

  /// Never blocks. `done` is called exactly once, on the fetcher's thread or this one.
  virtual void start(fetch_request request, std::function<void(fetched)> done) = 0;
  /// Ends what is under way with an error; nothing may be started afterwards.
  virtual void stop() = 0;
};

} // namespace lycosa::crawl
