#pragma once

#include "coordination/store.hpp"

#include <optional>
#include <string>
#include <string_view>

/// What is written into the coordination store: JSON texts, for people look at them with etcdctl.
/// Ids are 16 hexadecimal digits, as in the keys.
namespace lycosa::coordination {

[[nodiscard]] std::string id_text(std::uint64_t id);
[[nodiscard]] std::optional<std::uint64_t> parse_id(std::string_view text);

[[nodiscard]] std::string to_text(const member& m);
[[nodiscard]] std::string to_text(const cluster_facts& f);

/// Fields that are not known are passed over: nodes of a newer version may say more.
[[nodiscard]] result<member> parse_member(std::string_view text);
[[nodiscard]] result<cluster_facts> parse_facts(std::string_view text);

} // namespace lycosa::coordination
