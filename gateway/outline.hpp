#pragma once

#include "gateway/body.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lycosa::gateway {

enum class json_kind : std::uint8_t { null, boolean, number, string, object, array };

/// "null", "true or false", …: for messages.
[[nodiscard]] std::string_view describe(json_kind kind) noexcept;

/// One member of an object, as slices of the text it came from.
struct json_member {
  static constexpr std::uint32_t no_parent = UINT32_MAX;

  std::string_view key;             ///< unescaped
  std::string_view raw;             ///< the value, byte for byte
  std::string_view pair;            ///< `"key": value`, byte for byte
  std::string_view text;            ///< of a string: unescaped
  std::uint32_t parent = no_parent; ///< the member whose object it is in; none = the outer object
  json_kind kind = json_kind::null;

  [[nodiscard]] bool is(json_kind k) const noexcept { return kind == k; }
};

/// The upper levels of one JSON value: what we read as members, what we only carry as slices.
/// Everything is checked against the grammar, whether it is read or carried; nothing is copied
/// but strings with escapes. Reused for one value after the other, so a list allocates little.
class outline {
public:
  static constexpr unsigned max_depth = 64;

  enum class outcome : std::uint8_t {
    ok,
    unfit,  ///< JSON, but nothing we can keep: nested too deep, half a surrogate pair, a number
            ///< no double can hold
    broken, ///< not JSON
  };

  /// `open`: dotted paths of the objects whose members are wanted besides the outer one's.
  /// `arena` must outlive what the slices are used for.
  outline(text_arena& arena, std::span<const std::string_view> open) : arena_(arena), open_(open) {}

  /// Reads the value that starts at or after `at`; white space before it is skipped. Precondition:
  /// `body` is valid UTF-8. After `ok` and `unfit`, `end()` is where it ends.
  outcome parse(std::string_view body, std::size_t at);

  [[nodiscard]] std::size_t end() const noexcept { return end_; }
  /// After `unfit` and `broken`: where, and why.
  [[nodiscard]] std::size_t error_at() const noexcept { return error_at_; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  [[nodiscard]] json_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::string_view raw() const noexcept { return raw_; }
  [[nodiscard]] std::span<const json_member> members() const noexcept { return members_; }
  /// The member called `key`; none if it is absent. `parent`: an opened object, null = the outer.
  [[nodiscard]] const json_member* find(std::string_view key,
                                        const json_member* parent = nullptr) const noexcept;
  [[nodiscard]] std::uint32_t index_of(const json_member& m) const noexcept {
    return static_cast<std::uint32_t>(&m - members_.data());
  }
  /// Dotted path of a member.
  [[nodiscard]] std::string path(const json_member& m) const;
  /// Path of a key that stands twice in one object (of those opened); none if there is none.
  [[nodiscard]] std::optional<std::string> duplicate() const;

private:
  friend struct outline_handler;
  [[nodiscard]] bool opens(const json_member& m) const;
  [[nodiscard]] std::optional<std::size_t> find_end(std::string_view body, std::size_t at) const;

  text_arena& arena_;
  std::span<const std::string_view> open_;
  std::vector<json_member> members_;
  std::string_view raw_;
  std::string why_;
  std::size_t end_ = 0;
  std::size_t error_at_ = 0;
  json_kind kind_ = json_kind::null;
};

} // namespace lycosa::gateway
