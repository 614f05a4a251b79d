#pragma once

#include "cli/context.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace lycosa::cli {

using json = nlohmann::ordered_json;

struct http_answer {
  long status = 0;
  std::string body;
  double retry_after = 0; ///< seconds; 0 = the server did not say
};

/// Speaks to a node over HTTP; keeps the connection between calls. One thread.
class client {
public:
  /// `server` is a URL such as http://127.0.0.1:8040.
  explicit client(std::string server);
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// One exchange. Fails (exit code 3) only when no answer came.
  outcome<http_answer> send(std::string_view method, std::string_view path,
                            std::string_view body = {},
                            std::string_view content_type = "application/json");

  /// One exchange that must succeed; a problem document becomes the failure's text. Waits and
  /// repeats while the server answers 429.
  outcome<std::string> call(std::string_view method, std::string_view path,
                            std::string_view body = {},
                            std::string_view content_type = "application/json");

  /// `call`, with the answer read as JSON.
  outcome<json> call_json(std::string_view method, std::string_view path,
                          std::string_view body = {},
                          std::string_view content_type = "application/json");

private:
  struct handle;
  std::string server_;
  std::unique_ptr<handle> handle_;
};

/// `text` as one segment or value of a URL.
[[nodiscard]] std::string url_encode(std::string_view text);

/// The failure an answer with an error status stands for.
[[nodiscard]] failure to_failure(std::string_view what, const http_answer& answer);

} // namespace lycosa::cli
