#pragma once

#include "cli/context.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace lycosa::cli {

/// One event of a stream, as it was sent.
struct stream_event {
  std::string id, type, data;
};

/// Reads Server-Sent Events from the bytes of an answer, however they are cut.
class sse_reader {
public:
  explicit sse_reader(std::function<bool(const stream_event&)> on_event)
      : on_event_(std::move(on_event)) {}
  /// False once `on_event` wanted no more.
  bool feed(std::string_view bytes);

private:
  bool line(std::string_view text);

  std::function<bool(const stream_event&)> on_event_;
  std::string rest_;
  stream_event now_;
};

/// How one connection to a stream ended.
struct stream_end {
  bool connected = false; ///< it was answered with 200
  failure why;
};

/// Follows `path` until the connection ends or `on_event` returns false. `last_id` is sent unless
/// it is empty.
[[nodiscard]] stream_end follow(const std::string& server, const std::string& path,
                                const std::string& last_id,
                                const std::function<bool(const stream_event&)>& on_event);

} // namespace lycosa::cli
