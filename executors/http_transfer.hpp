#pragma once

#include "core/jobs/executor.hpp"
#include "core/result.hpp"
#include "executors/http_executor.hpp"
#include "executors/tail_buffer.hpp"
#include "executors/text_search.hpp"

#include <curl/curl.h>

#include <array>
#include <memory>

namespace lycosa::executors {

/// One request: its curl handle and all that the handle points to, so it never moves.
class http_transfer {
public:
  /// invalid_argument naming the field, if the action is no request that can be sent.
  [[nodiscard]] static result<std::unique_ptr<http_transfer>> make(jobs::run_key key,
                                                                   jobs::http_action action,
                                                                   std::optional<usec> timeout,
                                                                   const http_options& options);

  http_transfer(const http_transfer&) = delete;
  http_transfer& operator=(const http_transfer&) = delete;

  [[nodiscard]] CURL* handle() const { return easy_.get(); }
  [[nodiscard]] jobs::run_key key() const { return key_; }

  /// The transfer a handle belongs to.
  [[nodiscard]] static http_transfer& of(CURL* handle);

  /// What became of it; to be called once, after curl is done with it.
  [[nodiscard]] jobs::run_result outcome(CURLcode code);

  /// What there is of it when it is given up.
  [[nodiscard]] jobs::run_result cancelled();

private:
  struct easy_free {
    void operator()(CURL* c) const { ::curl_easy_cleanup(c); }
  };
  struct list_free {
    void operator()(curl_slist* l) const { ::curl_slist_free_all(l); }
  };

  http_transfer(jobs::run_key key, jobs::http_action action, std::optional<usec> timeout,
                const http_options& options);
  [[nodiscard]] result<void> prepare(const http_options& options);
  [[nodiscard]] result<void> add_headers();
  void add_method();
  [[nodiscard]] bool expected(long status) const;
  [[nodiscard]] std::string reason(CURLcode code) const;
  void fill(jobs::run_result& r);
  static std::size_t on_body(char* data, std::size_t, std::size_t n, void* self);

  jobs::run_key key_;
  jobs::http_action action_;
  std::optional<usec> timeout_;
  mono_time begun_;
  tail_buffer tail_;
  text_search search_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::unique_ptr<curl_slist, list_free> headers_;
  std::unique_ptr<CURL, easy_free> easy_; // last: it goes before what it points to
};

} // namespace lycosa::executors
