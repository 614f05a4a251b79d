#pragma once

#include "core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What the nodes of a cluster send to one another, as values and as bytes.
namespace lycosa::wire {

// schema/link.capnp says what each means.

struct link_hello {
  std::string cluster;
  std::uint64_t node = 0;
  std::uint64_t to = 0;
  std::string name;
  std::uint32_t version = 0;
  std::uint32_t oldest = 0;
  std::string nonce;
  std::uint64_t max_message = 0;
};
struct link_proof {
  std::string mac;
};
struct link_refused {
  std::string why;
};
struct link_alive {
  std::uint64_t handled = 0;
};
struct link_envelope {
  std::uint16_t channel = 0;
  std::string body;
};
/// Of a newer version, and nothing to us.
struct link_unknown {};

using link_frame =
    std::variant<link_unknown, link_hello, link_proof, link_refused, link_alive, link_envelope>;

/// Bytes of a frame that are not the envelope's body, at most; also the longest other frame.
inline constexpr std::size_t link_overhead = 16 * 1024;

/// A frame with its length before it.
[[nodiscard]] std::string encode(const link_hello& f);
[[nodiscard]] std::string encode(const link_proof& f);
[[nodiscard]] std::string encode(const link_refused& f);
[[nodiscard]] std::string encode(const link_alive& f);
[[nodiscard]] std::string encode_envelope(std::uint16_t channel, std::string_view body);

/// Finds the frames in a stream of bytes.
class link_reader {
public:
  /// Frames may be so long from now on, the next one in the same bytes included.
  void allow(std::size_t longest) { longest_ = longest; }

  /// Calls `each` with every frame that `bytes` complete, until it returns false. Fails with
  /// `corrupt` for what is no frame, or one that is too long; nothing can be read from then on.
  result<void> take(std::span<const char> bytes, const std::function<bool(link_frame)>& each);

private:
  std::size_t longest_ = link_overhead;
  std::size_t filled_ = 0; ///< bytes of the length, then of the frame
  std::uint32_t size_ = 0;
  bool sized_ = false;
  std::vector<std::uint64_t> words_; ///< Cap'n Proto reads from aligned memory only
};

} // namespace lycosa::wire
