#include "core/lease.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstddef>

namespace lycosa {
namespace {

// 28 bytes of token and 8 of checksum: 36 bytes are 48 characters with no padding, so there is
// exactly one text for a token. The checksum catches mangled texts; it keeps no secret.
constexpr std::size_t body = 28;
constexpr std::size_t bytes = 36;
constexpr std::size_t chars = 48;
using raw = std::array<unsigned char, bytes>;

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr auto digits = [] {
  std::array<signed char, 256> d{};
  d.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    d[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
  return d;
}();

template <class T>
void write(raw& to, std::size_t& at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    to[at++] = static_cast<unsigned char>(value >> (8 * i));
}

template <class T>
T read(const raw& from, std::size_t& at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (static_cast<T>(from[at++]) << (8 * i)));
  return value;
}

std::uint64_t checksum(const raw& r) {
  return XXH3_64bits(r.data(), body);
}

} // namespace

std::string to_text(const lease_token& token) {
  raw r{};
  std::size_t at = 0;
  write(r, at, static_cast<std::uint32_t>(token.project));
  write(r, at, token.key.value());
  write(r, at, token.number);
  write(r, at, token.generation);
  write(r, at, token.epoch);
  write(r, at, checksum(r));

  std::string text(chars, '\0');
  for (std::size_t i = 0, o = 0; i < bytes; i += 3) {
    const std::uint32_t group = (r[i] << 16U) | (r[i + 1] << 8U) | r[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6)
      text[o++] = alphabet[(group >> shift) & 63U];
  }
  return text;
}

std::optional<lease_token> parse_lease(std::string_view text) noexcept {
  if (text.size() != chars) return std::nullopt;
  raw r{};
  for (std::size_t i = 0, o = 0; i < chars; i += 4) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto digit = digits[static_cast<unsigned char>(text[i + j])];
      if (digit < 0) return std::nullopt;
      group = (group << 6U) | static_cast<std::uint32_t>(digit);
    }
    r[o++] = static_cast<unsigned char>(group >> 16U);
    r[o++] = static_cast<unsigned char>(group >> 8U);
    r[o++] = static_cast<unsigned char>(group);
  }
  std::size_t at = body;
  if (read<std::uint64_t>(r, at) != checksum(r)) return std::nullopt;

  at = 0;
  lease_token token;
  token.project = project_id{read<std::uint32_t>(r, at)};
  token.key = task_key::from_value(read<std::uint64_t>(r, at));
  token.number = read<std::uint32_t>(r, at);
  token.generation = read<std::uint32_t>(r, at);
  token.epoch = read<std::uint64_t>(r, at);
  return token;
}

} // namespace lycosa
