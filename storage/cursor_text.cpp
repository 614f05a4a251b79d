#include "storage/cursor_text.hpp"

#include <charconv>

namespace lycosa::storage {

namespace {

void hex(std::string& out, std::uint64_t v, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(v >> shift) & 15];
}

bool unhex(std::string_view text, std::uint64_t& v) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v, 16);
  return ec == std::errc{} && end == text.data() + text.size();
}

auto bad() {
  return fail(errc::invalid_argument, "cursor", "not a cursor that this listing gave out");
}

} // namespace

std::string to_text(const list_cursor& c) {
  std::string out;
  hex(out, c.status, 2);
  hex(out, c.seq, 16);
  return out;
}

result<list_cursor> parse_list_cursor(std::string_view text, std::optional<task_status> status) {
  const auto want = status ? static_cast<std::uint8_t>(*status) : std::uint8_t{0};
  if (text.empty()) return list_cursor{want, 0};
  std::uint64_t s = 0, seq = 0;
  if (text.size() != 18 || !unhex(text.substr(0, 2), s) || !unhex(text.substr(2), seq) || s != want)
    return bad();
  return list_cursor{want, seq};
}

std::string to_text(const task_hash& last) {
  std::string out;
  hex(out, last.high, 16);
  hex(out, last.low, 16);
  return out;
}

result<std::optional<task_hash>> parse_result_cursor(std::string_view text) {
  if (text.empty()) return std::nullopt;
  task_hash h;
  if (text.size() != 32 || !unhex(text.substr(0, 16), h.high) || !unhex(text.substr(16), h.low))
    return bad();
  return h;
}

} // namespace lycosa::storage
