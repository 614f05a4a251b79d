#pragma once

#include "actors/event_hub.hpp"
#include "core/jobs/executor.hpp"
#include "core/result.hpp"
#include "core/types.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What happens in a node, handed on to those who do not ask for it. A listener reads the hub at
/// its own pace on a thread of its own; what it is too slow for is told to it as a gap.
namespace lycosa::bridges {

class event_listener {
public:
  virtual ~event_listener() = default; ///< stops
  /// Returns at once; it is about to end, so that several can do so at the same time.
  virtual void begin_stop() = 0;
  /// Ends within about a second; what is left is handed on once if that works at once. After the
  /// node was stopped it hears of its end too.
  virtual void stop() = 0;
};

struct webhook_config {
  std::string name; ///< for the log
  std::string url;
  std::string types; ///< names with commas; empty = all
  std::vector<std::pair<std::string, std::string>> headers;
  usec timeout = std::chrono::seconds{10};
  std::size_t batch = 100;                           ///< most events in one post
  usec first_pause = std::chrono::milliseconds{100}; ///< after a failed post; doubles with each
  usec longest_pause = std::chrono::minutes{1};
};

/// What `start_webhook` asks of a configuration.
result<void> check_webhook(const webhook_config& config, const actors::event_hub& hub);

/// Posts JSON lists of events in their order. A post is repeated, ever more slowly, until it is
/// answered with 2xx: each event arrives at least once, or in a gap. `sender` sends http actions
/// and is shared by all. Errors: `invalid_argument` for a URL or a type that makes no sense.
result<std::unique_ptr<event_listener>> start_webhook(webhook_config config, actors::event_hub& hub,
                                                      std::shared_ptr<jobs::executor> sender);

/// What `start_event_log` asks of its types.
result<void> check_event_log(const std::string& types, const actors::event_hub& hub);

/// Writes a line an event to the log of the subsystem `events`. `types`: names, or `all`.
result<std::unique_ptr<event_listener>> start_event_log(std::string types, actors::event_hub& hub);

/// Headers written one a line, `Name: value`.
result<std::vector<std::pair<std::string, std::string>>> parse_headers(const std::string& text);

} // namespace lycosa::bridges
