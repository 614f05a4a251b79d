#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the codecs share: Cap'n Proto messages to flat bytes and back. For sources only.
namespace lycosa::storage::bytes {

inline std::int64_t count(wall_time t) {
  return t.time_since_epoch().count();
}
inline wall_time moment(std::int64_t us) {
  return wall_time{usec{us}};
}
inline unsigned length(std::string_view s) {
  return static_cast<unsigned>(s.size());
}

// Cap'n Proto's setters want NUL-terminated text; views are not, so the bytes are copied in place.
inline void fill(capnp::Text::Builder to, std::string_view from) {
  if (!from.empty()) std::memcpy(to.begin(), from.data(), from.size());
}
inline void fill(capnp::Data::Builder to, std::string_view from) {
  if (!from.empty()) std::memcpy(to.begin(), from.data(), from.size());
}
inline std::string_view view(capnp::Text::Reader r) {
  return {r.begin(), r.size()};
}
inline std::string_view view(capnp::Data::Reader r) {
  return {reinterpret_cast<const char*>(r.begin()), r.size()};
}

/// A reader over bytes that are aligned. A record is read once: every word may be visited a few
/// times at most, whatever a damaged pointer says.
inline capnp::FlatArrayMessageReader reader_over(std::span<const std::byte> aligned) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = aligned.size() / sizeof(capnp::word) * 4 + 64;
  return {kj::arrayPtr(reinterpret_cast<const capnp::word*>(aligned.data()),
                       aligned.size() / sizeof(capnp::word)),
          options};
}

/// Bytes at an aligned address.
class aligned_copy {
public:
  explicit aligned_copy(std::span<const std::byte> from) : words_((from.size() + 7) / 8) {
    if (!from.empty()) std::memcpy(words_.data(), from.data(), from.size());
    size_ = from.size();
  }
  explicit aligned_copy(std::string_view from) : aligned_copy(std::as_bytes(std::span(from))) {}
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(words_.data()), size_};
  }

private:
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

/// Runs `decode`, whose exceptions become `corrupt`.
template <class F>
auto guarded(const char* what, F&& decode) -> decltype(decode()) {
  try {
    return decode();
  } catch (const kj::Exception& e) {
    return fail(errc::corrupt, what, std::string("does not decode: ") + e.getDescription().cStr());
  } catch (const std::exception& e) {
    return fail(errc::corrupt, what, std::string("does not decode: ") + e.what());
  }
}

inline std::size_t flat_size(capnp::MessageBuilder& message) {
  return capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word);
}

inline void flat_write(capnp::MessageBuilder& message, std::byte* to, std::size_t size) {
  kj::ArrayOutputStream out(kj::arrayPtr(reinterpret_cast<kj::byte*>(to), size));
  capnp::writeMessage(out, message);
}

inline std::string flat_text(capnp::MessageBuilder& message) {
  std::string out(flat_size(message), '\0');
  flat_write(message, reinterpret_cast<std::byte*>(out.data()), out.size());
  return out;
}

} // namespace lycosa::storage::bytes
