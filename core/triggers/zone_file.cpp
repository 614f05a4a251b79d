#include "core/triggers/zone_file.hpp"

#include "core/triggers/text.hpp"
#include "core/triggers/zone.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace lycosa::trigger::detail {
namespace {

constexpr std::size_t header_size = 44;
constexpr std::size_t max_file = 1 << 20;

/// Where systems keep the database; the first that has the zone is used.
constexpr std::array<std::string_view, 3> folders{"/usr/share/zoneinfo/",
                                                  "/usr/share/lib/zoneinfo/", "/usr/lib/zoneinfo/"};

/// A big-endian two's complement number.
std::int64_t number(std::string_view bytes, std::size_t at, unsigned width) {
  std::uint64_t v = (static_cast<unsigned char>(bytes[at]) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (unsigned i = 0; i < width; ++i)
    v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(v);
}

/// The counts a header gives, in the file's order.
struct header {
  std::size_t is_ut, is_std, leaps, times, types, letters;
  [[nodiscard]] std::size_t body(unsigned width) const {
    return times * width + times + types * 6 + letters + leaps * (width + 4) + is_std + is_ut;
  }
};

std::optional<header> read_header(std::string_view bytes, std::size_t at) {
  if (bytes.size() < at + header_size || bytes.compare(at, 4, "TZif") != 0) return std::nullopt;
  std::array<std::size_t, 6> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto n = number(bytes, at + 20 + 4 * i, 4);
    if (n < 0 || n > static_cast<std::int64_t>(max_file)) return std::nullopt;
    counts[i] = static_cast<std::size_t>(n);
  }
  return header{counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
}

/// Names come from users: they must not lead out of the folder.
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || !is_alpha(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '/';
  });
}

} // namespace

std::optional<zone_table> parse_zone_file(std::string_view bytes) {
  auto h = read_header(bytes, 0);
  if (!h) return std::nullopt;
  std::size_t at = header_size;
  unsigned width = 4;
  const bool modern = bytes[4] >= '2'; // a second part with 64-bit times follows the first
  if (modern) {
    at += h->body(4);
    h = read_header(bytes, at);
    if (!h) return std::nullopt;
    at += header_size;
    width = 8;
  }
  if (h->types == 0 || bytes.size() < at + h->body(width)) return std::nullopt;
  const std::size_t kinds_at = at + h->times * width;
  const std::size_t types_at = kinds_at + h->times;
  const auto offset_of = [&](std::size_t type) {
    return static_cast<std::int32_t>(number(bytes, types_at + type * 6, 4));
  };
  zone_table table;
  table.offsets.push_back(offset_of(0)); // holds before the first transition
  for (std::size_t i = 0; i < h->times; ++i) {
    const auto type = static_cast<unsigned char>(bytes[kinds_at + i]);
    if (type >= h->types) return std::nullopt;
    const auto offset = offset_of(type);
    if (offset < -93'600 || offset > 93'600) return std::nullopt;
    if (offset == table.offsets.back()) continue; // only the zone's abbreviation changed
    const auto begin = number(bytes, at + i * width, width);
    if (!table.begins.empty() && begin <= table.begins.back()) return std::nullopt;
    table.begins.push_back(begin);
    table.offsets.push_back(offset);
  }
  if (!modern) return table;
  at += h->body(width);
  if (at + 2 > bytes.size() || bytes[at] != '\n' || bytes.back() != '\n') return table;
  auto tail = posix_tail::parse(bytes.substr(at + 1, bytes.size() - at - 2));
  if (tail && tail->has_changes())
    table.tail = tail;
  else if (tail && table.begins.empty())
    table.offsets.back() = static_cast<std::int32_t>(tail->standard().count());
  return table;
}

std::optional<zone_table> read_zone_file(std::string_view name) {
  if (!is_zone_name(name)) return std::nullopt;
  for (auto folder : folders) {
    const auto path = std::string(folder) + std::string(name);
    std::error_code failed; // a folder is no zone, and neither is what cannot be looked at
    const auto size = std::filesystem::file_size(path, failed);
    if (failed || !std::filesystem::is_regular_file(path, failed) || size > max_file) continue;
    std::ifstream file(path, std::ios::binary);
    std::string bytes(size, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) continue;
    return parse_zone_file(bytes);
  }
  return std::nullopt;
}

} // namespace lycosa::trigger::detail

namespace lycosa::trigger {

std::span<const std::string_view> zone_folders() {
  return detail::folders;
}

} // namespace lycosa::trigger
