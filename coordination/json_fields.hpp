#pragma once

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa::coordination {

/// A JSON object, or none.
inline std::optional<nlohmann::json> parse_object(std::string_view text) {
  auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object()) return std::nullopt;
  return j;
}

/// The text does not have to be UTF-8; what is not, is replaced.
inline std::string dump(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline const nlohmann::json* field(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

inline const std::string* text_field(const nlohmann::json& object, const char* name) {
  const auto* j = field(object, name);
  return j ? j->get_ptr<const std::string*>() : nullptr;
}

/// A JSON number that is a whole one in the range of T.
template <class T>
std::optional<T> number_field(const nlohmann::json& object, const char* name) {
  const auto* j = field(object, name);
  if (!j || !j->is_number_unsigned()) return std::nullopt;
  const auto n = j->get<std::uint64_t>();
  if (n > std::numeric_limits<T>::max()) return std::nullopt;
  return static_cast<T>(n);
}

} // namespace lycosa::coordination
