#pragma once

#include "crawl/fetcher.hpp"
#include <curl/curl.h>

#include <functional>
#include <memory>
#include <string>

namespace lycosa::crawl {

/// One fetch: its request turned into libcurl's options, and what has come so far.
class transfer {
public:
  transfer(fetch_request request, const fetcher_config& config, std::function<void(fetched)> done);

  [[nodiscard]] CURL* handle() const { return curl_.get(); }
  /// Not empty: the options make no sense and it cannot be begun.
  [[nodiscard]] const std::string& why() const { return why_; }

  void finish(CURLcode code);
  void fail(const std::string& why);

private:
  struct deleter {
    void operator()(CURL* c) const { curl_easy_cleanup(c); }
    void operator()(curl_slist* l) const { curl_slist_free_all(l); }
  };
  void configure(const fetcher_config& config);
  void add_header(const std::string& line);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t n, void* self);
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t n, void* self);

  fetch_request request_;
  std::size_t max_body_;
  std::function<void(fetched)> done_;
  std::unique_ptr<CURL, deleter> curl_;
  std::unique_ptr<curl_slist, deleter> headers_;
  fetched got_;
  std::string why_;
};

/// A fetch that brought nothing.
[[nodiscard]] fetched not_fetched(const std::string& url, const std::string& why);

/// What a `data:` URL holds (RFC 2397), base64 or percent-encoded.
[[nodiscard]] fetched from_data_url(const std::string& url);

} // namespace lycosa::crawl
