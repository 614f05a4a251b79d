#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lycosa::wire {

// schema/forward.capnp says what each means.

enum class forward_interface : std::uint8_t { http, xmlrpc };

struct forward_request {
  forward_interface interface = forward_interface::http;
  std::string method;
  std::string target;
  std::string content_type;
  std::string accept;
  std::string last_event_id;
  std::uint64_t body_size = 0;
  std::string body;
};
struct forward_body {
  std::string bytes;
};
struct forward_cancel {};
struct forward_done {};
struct forward_credit {
  std::uint64_t bytes = 0;
};
struct forward_received {};
struct forward_head {
  std::uint16_t status = 0;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool last = false;
  bool live = false;
  std::string keep_alive;
  bool owed = false;
};
struct forward_part {
  std::string bytes;
  bool last = false;
  bool broken = false;
};
/// Of a newer version, and nothing to us.
struct forward_unknown {};

using forward_content =
    std::variant<forward_unknown, forward_request, forward_body, forward_cancel, forward_done,
                 forward_credit, forward_received, forward_head, forward_part>;

struct forward_frame {
  std::uint64_t id = 0;
  forward_content content;
};

/// `body`: in place of the content's own text (of a request, body, head or part), not copied
/// before.
[[nodiscard]] std::string encode(const forward_frame& f, std::string_view body = {});

/// Error: `corrupt`.
[[nodiscard]] result<forward_frame> decode_forward(std::string_view bytes);

} // namespace lycosa::wire
