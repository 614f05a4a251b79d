#pragma once

#include "core/jobs/action.hpp"
#include "core/result.hpp"
#include "core/types.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa::jobs::detail {

using json = nlohmann::ordered_json;

/// Reads a text that must be one JSON object; `field` names it in the error.
[[nodiscard]] result<json> parse_object(std::string_view text, std::string_view field);

[[nodiscard]] std::string dump(const json& j);
[[nodiscard]] double to_seconds(usec d);

/// Strict reading of an object's members. The first error stays; the readers after it change
/// nothing, so that a caller checks once, at the end. A member that is null counts as left out,
/// except for `optional_seconds`.
class member_reader {
public:
  member_reader(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  /// Refuses every member that is not named here.
  void only(std::initializer_list<std::string_view> names);

  [[nodiscard]] const json* find(std::string_view name) const;
  void text(std::string_view name, std::string& out);
  /// A text that goes to the system, which takes none with NUL bytes.
  void system_text(std::string_view name, std::string& out);
  void flag(std::string_view name, bool& out);
  void whole(std::string_view name, std::uint32_t low, std::uint32_t high, std::uint32_t& out);
  /// A number of seconds from 0 to 1e11, or a text such as `5m`.
  void seconds(std::string_view name, usec& out);
  /// The same; null = none.
  void optional_seconds(std::string_view name, std::optional<usec>& out);
  [[nodiscard]] std::optional<usec> seconds_of(const json& value, const std::string& name);

  void refuse(std::string_view name, std::string why);
  [[nodiscard]] std::string name_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }
  [[nodiscard]] bool ok() const { return !failure_; }
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

private:
  const json& object_;
  std::string path_;
  std::optional<error> failure_;
};

/// `parse_action` of a value that is read already.
[[nodiscard]] result<action> read_action(const json& object, std::string_view path);

} // namespace lycosa::jobs::detail
