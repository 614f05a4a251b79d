#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Names in the catalog's space "jobs": a letter for the kind, then what tells them apart.
namespace lycosa::storage::job_names {

inline constexpr std::string_view space = "jobs";
inline constexpr std::string_view state = "n"; ///< counters of the whole space
inline constexpr std::string_view log = "l";   ///< prefix of `blob_log`'s records

/// Numbers in names: high byte first, so that their order is the numbers'.
inline void append_number(std::string& to, std::uint64_t n) {
  for (int shift = 56; shift >= 0; shift -= 8)
    to += static_cast<char>(n >> shift & 0xff);
}

inline std::uint64_t number_at(std::string_view bytes) {
  std::uint64_t n = 0;
  for (const char c : bytes.substr(0, 8))
    n = n << 8 | static_cast<unsigned char>(c);
  return n;
}

inline std::string members(std::string_view id) {
  return "d" + std::string(id);
}
inline std::string place(std::string_view id) {
  return "p" + std::string(id);
}
inline std::string open_run(std::string_view id, std::uint64_t number) {
  std::string name = "o" + std::string(id) + '\0'; // ids hold no NUL
  append_number(name, number);
  return name;
}
inline std::string open_runs_of(std::string_view id) {
  return "o" + std::string(id) + '\0';
}
inline std::string record(std::uint64_t at) {
  std::string name = "r";
  append_number(name, at);
  return name;
}

} // namespace lycosa::storage::job_names
