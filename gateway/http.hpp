#pragma once

#include "core/result.hpp"
#include "core/types.hpp"
#include "gateway/body.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Requests and answers as the handlers see them: no sockets, no HTTP library.
namespace lycosa::gateway {

struct request {
  std::string method;
  std::string target; ///< as sent: path and query
  std::string path;                                       ///< as sent, without the query
  std::vector<std::string> segments;                      ///< of the path, percent-decoded
  std::vector<std::pair<std::string, std::string>> query; ///< decoded
  std::vector<std::string> captured;                      ///< what stands for the route's `{}`
  std::string content_type;
  std::string accept;
  std::string accept_encoding;
  std::string if_none_match; ///< this header and the next; empty = none
  std::string last_event_id;
  std::shared_ptr<request_body> body = std::make_shared<request_body>();

  [[nodiscard]] const std::string* argument(std::string_view name) const;
  /// Whether a list is to be answered line by line.
  [[nodiscard]] bool wants_lines() const;
  /// Whether the body says it is line by line.
  [[nodiscard]] bool sends_lines() const;
};

/// Splits and decodes a request target. False if it is malformed.
bool parse_target(std::string_view target, request& into);

/// A body that goes on until its client or the server leaves: parts are sent as they come. On the
/// connection's thread; destroyed when the connection has ended.
class live_body {
public:
  virtual ~live_body() = default;
  /// What is to be sent now; empty = nothing yet. None = this was all.
  virtual std::optional<std::string> take() = 0;
  /// Calls `wake` once, on any thread, as soon as `take` may have something.
  virtual void wait(std::function<void()> wake) = 0;
  /// Sent when there was nothing for so long.
  std::string keep_alive;
  usec keep_alive_after = std::chrono::seconds{15};
};

struct response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// Called when the answer could not be handed over: the client has gone.
  std::function<void()> undelivered;
  /// Further parts of the body, sent one after the other until an empty one; an error breaks the
  /// connection off, so that the client does not take half a list for the whole.
  std::function<void(std::function<void(result<std::string>)>)> next_part;
  /// In place of `body` and `next_part`.
  std::shared_ptr<live_body> live;
};

/// One request being answered. All calls from any thread unless said otherwise.
class exchange {
public:
  virtual ~exchange() = default;
  /// Answers with what `render` returns; it runs on the connection's thread, so that a big answer
  /// is not put together on a thread of the node. Once.
  virtual void answer(std::function<response()> render) = 0;
  /// The client is watched while it waits: `cancel` is called once it is gone. When the server
  /// stops, `cancel` is called and the client is told `instead`. On the connection's thread only.
  virtual void cancellable(std::function<void()> cancel, response instead) = 0;
};
using exchange_ptr = std::shared_ptr<exchange>;

/// What is wrong with one item of a list, or one field.
struct field_error {
  std::size_t index = 0;
  std::string field;
  std::string reason;
};

/// An RFC 9457 problem document. `more`: further members as JSON text `"k":v,…`, may be empty.
[[nodiscard]] response problem(unsigned status, std::string_view detail,
                               const std::vector<field_error>& errors = {},
                               std::string_view more = {});
/// The same for a failure of the node or of a decoder.
[[nodiscard]] response problem(const error& e, std::string_view more = {});
/// The HTTP status that stands for a failure.
[[nodiscard]] unsigned status_of(errc code) noexcept;
[[nodiscard]] std::string_view status_title(unsigned status) noexcept;

/// An answer of 200 with a JSON body.
[[nodiscard]] response json(std::string body, unsigned status = 200);

/// A callback for the node that answers with `render(value)`, or with the failure.
template <class T, class Render>
[[nodiscard]] std::function<void(result<T>)> answering(exchange_ptr x, Render render) {
  return [x = std::move(x), render = std::move(render)](result<T> got) {
    auto shared = std::make_shared<result<T>>(std::move(got));
    x->answer([shared, render]() -> response {
      if (!*shared) return problem(shared->error());
      return render(**shared);
    });
  };
}

inline void answer_now(const exchange_ptr& x, response r) {
  auto shared = std::make_shared<response>(std::move(r));
  x->answer([shared] { return std::move(*shared); });
}

} // namespace lycosa::gateway
