#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Between Cap'n Proto's texts and ours. For this layer's sources only.
namespace lycosa::wire {

inline std::string text(capnp::Text::Reader t) {
  return {t.cStr(), t.size()};
}
inline std::string text(capnp::Data::Reader d) {
  return {reinterpret_cast<const char*>(d.begin()), d.size()};
}
inline capnp::Text::Reader text(const std::string& s) {
  return {s.c_str(), s.size()};
}
inline capnp::Data::Reader blob(std::string_view s) {
  return {reinterpret_cast<const capnp::byte*>(s.data()), s.size()};
}

/// Room for a message around `payload` bytes, so that it is one segment.
inline unsigned first_segment(std::size_t payload) {
  return static_cast<unsigned>(payload / sizeof(capnp::word) + 128);
}

/// Appends the message as `capnp::messageToFlatArray` would give it.
inline void append_flat(std::string& to, capnp::MessageBuilder& message) {
  const auto segments = message.getSegmentsForOutput();
  const auto number = [&](std::size_t n) {
    const auto v = static_cast<std::uint32_t>(n);
    char b[4] = {static_cast<char>(v), static_cast<char>(v >> 8), static_cast<char>(v >> 16),
                 static_cast<char>(v >> 24)};
    to.append(b, sizeof b);
  };
  number(segments.size() - 1);
  for (const auto& s : segments)
    number(s.size());
  if (segments.size() % 2 == 0) number(0);
  for (const auto& s : segments) {
    const auto bytes = s.asBytes();
    to.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  }
}

/// For a message whose length is already bounded: every word may be read twice.
inline capnp::ReaderOptions limits(std::size_t words) {
  capnp::ReaderOptions o;
  o.traversalLimitInWords = 2 * words + 1024;
  o.nestingLimit = 8;
  return o;
}

} // namespace lycosa::wire
