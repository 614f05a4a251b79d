#include "bridges/msgpack.hpp"

#include "gateway/bytes_as_text.hpp"
#include "gateway/numbers.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace lycosa::bridges {

namespace {

class transcoder {
public:
  transcoder(std::string_view in, std::string& out) : in_(in), out_(out) {}

  /// False: `why` says what is wrong at `at`.
  bool value(int depth) {
    if (depth > deepest_message) return bad("nested too deeply");
    std::uint64_t type = 0;
    if (!number(1, type)) return false;
    if (type < 0x80) return put_unsigned(type);
    if (type >= 0xe0) return put_signed(static_cast<std::int8_t>(type));
    if (type < 0x90) return map(type & 0x0f, depth);
    if (type < 0xa0) return array(type & 0x0f, depth);
    if (type < 0xc0) return text(type & 0x1f);
    switch (type) {
    case 0xc0:
      return put("null");
    case 0xc2:
      return put("false");
    case 0xc3:
      return put("true");
    case 0xc4:
    case 0xd9:
      return sized(1, [&](auto n) { return text(n); });
    case 0xc5:
    case 0xda:
      return sized(2, [&](auto n) { return text(n); });
    case 0xc6:
    case 0xdb:
      return sized(4, [&](auto n) { return text(n); });
    case 0xca:
      return sized(4, [&](auto n) {
        return put_double(std::bit_cast<float>(static_cast<std::uint32_t>(n)));
      });
    case 0xcb:
      return sized(8, [&](auto n) { return put_double(std::bit_cast<double>(n)); });
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      return sized(1U << (type - 0xcc), [&](auto n) { return put_unsigned(n); });
    case 0xd0:
      return sized(1, [&](auto n) { return put_signed(static_cast<std::int8_t>(n)); });
    case 0xd1:
      return sized(2, [&](auto n) { return put_signed(static_cast<std::int16_t>(n)); });
    case 0xd2:
      return sized(4, [&](auto n) { return put_signed(static_cast<std::int32_t>(n)); });
    case 0xd3:
      return sized(8, [&](auto n) { return put_signed(static_cast<std::int64_t>(n)); });
    case 0xdc:
      return sized(2, [&](auto n) { return array(n, depth); });
    case 0xdd:
      return sized(4, [&](auto n) { return array(n, depth); });
    case 0xde:
      return sized(2, [&](auto n) { return map(n, depth); });
    case 0xdf:
      return sized(4, [&](auto n) { return map(n, depth); });
    default:
      return bad("of a type that is not understood");
    }
  }

  [[nodiscard]] bool done() const { return at_ == in_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] const char* why() const { return why_; }

private:
  bool bad(const char* why) {
    why_ = why;
    return false;
  }

  bool number(std::size_t bytes, std::uint64_t& n) {
    if (in_.size() - at_ < bytes) return bad("cut off");
    n = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      n = n << 8 | static_cast<unsigned char>(in_[at_ + i]);
    at_ += bytes;
    return true;
  }

  template <class F>
  bool sized(std::size_t bytes, F&& then) {
    std::uint64_t n = 0;
    return number(bytes, n) && then(n);
  }

  bool put(std::string_view text) {
    out_ += text;
    return true;
  }
  bool put_unsigned(std::uint64_t n) { return put(std::to_string(n)); }
  bool put_signed(std::int64_t n) { return put(std::to_string(n)); }
  bool put_double(double d) {
    if (!std::isfinite(d)) return put("null");
    gateway::append_double(out_, d);
    return true;
  }

  bool text(std::uint64_t size) {
    if (in_.size() - at_ < size) return bad("cut off");
    const auto bytes = in_.substr(at_, size);
    at_ += size;
    gateway::append_bytes_as_text(out_, bytes);
    return true;
  }

  // An element takes a byte at least: what claims more than is left is cut off, and costs nothing.

  bool array(std::uint64_t n, int depth) {
    if (n > in_.size() - at_) return bad("cut off");
    out_ += '[';
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i > 0) out_ += ',';
      if (!value(depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  bool map(std::uint64_t n, int depth) {
    if (n > (in_.size() - at_) / 2) return bad("cut off");
    out_ += '{';
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i > 0) out_ += ',';
      const auto key_at = out_.size();
      if (!value(depth + 1)) return false;
      const char first = out_[key_at];
      if (first == '[' || first == '{') return bad("a map has a key that is no text");
      if (first != '"') {
        out_.insert(key_at, 1, '"');
        out_ += '"';
      }
      out_ += ':';
      if (!value(depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  std::string_view in_;
  std::string& out_;
  std::size_t at_ = 0;
  const char* why_ = "";
};

} // namespace

result<void> append_as_json(std::string& json, std::string_view body) {
  transcoder t{body, json};
  const bool read = t.value(1);
  if (read && t.done()) return {};
  return fail(errc::invalid_argument, "message",
              "is not MessagePack: byte " + std::to_string(t.at()) + ": "
                  + (read ? "something follows" : t.why()));
}

result<std::string> to_msgpack(std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (value.is_discarded()) return fail(errc::invalid_argument, "message", "is not JSON");
  std::string out;
  nlohmann::json::to_msgpack(value, out);
  return out;
}

} // namespace lycosa::bridges
