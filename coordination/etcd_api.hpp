#pragma once

#include "core/result.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The messages of etcd v3 that are used here, as its JSON gateway has them: keys and values in
/// base64, 64-bit numbers as texts, what is zero or empty left out.
namespace lycosa::coordination::etcd {

[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

struct key_value {
  std::string key;
  std::string value;
  std::uint64_t mod_revision = 0; ///< of the last change
  std::uint64_t lease = 0;
};

// -- requests ---------------------------------------------------------------

[[nodiscard]] nlohmann::json get(std::string_view key);
/// Part of the keys that begin with `prefix`: those from `from` on. `revision` 0 = the newest.
[[nodiscard]] nlohmann::json get_prefix(std::string_view prefix, std::string_view from,
                                        std::uint64_t revision, std::uint64_t limit);
[[nodiscard]] nlohmann::json put(std::string_view key, std::string_view value,
                                 std::uint64_t lease = 0);
[[nodiscard]] nlohmann::json erase(std::string_view key);
[[nodiscard]] nlohmann::json watch_prefix(std::string_view prefix, std::uint64_t from_revision);

/// Conditions of a transaction.
[[nodiscard]] nlohmann::json if_absent(std::string_view key);
/// 0 = there is no such key.
[[nodiscard]] nlohmann::json if_unchanged(std::string_view key, std::uint64_t mod_revision);

/// What a transaction may do.
[[nodiscard]] nlohmann::json then_put(nlohmann::json put);
[[nodiscard]] nlohmann::json then_get(nlohmann::json get);
[[nodiscard]] nlohmann::json then_all(std::vector<nlohmann::json> of); ///< one inside the other

[[nodiscard]] nlohmann::json transaction(std::vector<nlohmann::json> conditions,
                                         std::vector<nlohmann::json> then,
                                         std::vector<nlohmann::json> otherwise);

[[nodiscard]] nlohmann::json grant(std::chrono::seconds ttl);
[[nodiscard]] nlohmann::json lease(std::uint64_t id); ///< to prolong or to revoke

// -- answers ----------------------------------------------------------------

/// A number written as a text or as a number; 0 when it is left out.
[[nodiscard]] std::optional<std::uint64_t> number(const nlohmann::json& object, const char* name);

/// Of the store, when it answered.
[[nodiscard]] std::uint64_t revision(const nlohmann::json& answer);

struct range_answer {
  std::vector<key_value> kvs;
  bool more = false;
};
[[nodiscard]] result<range_answer> read_range(const nlohmann::json& answer);

struct txn_answer {
  bool succeeded = false;
  std::vector<key_value> got; ///< by all `then_get`s
};
[[nodiscard]] result<txn_answer> read_txn(const nlohmann::json& answer);

struct watch_event {
  key_value kv; ///< without a value when erased
  bool erased = false;
};
struct watch_answer {
  std::vector<watch_event> events;
  bool cancelled = false;
  std::string why;
};
[[nodiscard]] result<watch_answer> read_watch(const nlohmann::json& answer);

} // namespace lycosa::coordination::etcd
