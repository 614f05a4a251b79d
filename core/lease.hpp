#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lycosa {

/// Proof that a task was handed to a consumer, sent along with its report. Opaque to clients.
/// Fencing: `epoch` grows with each start of the node and `number` with each lease of a project,
/// so a report from an older lease of the same task can be told apart from the current one's.
struct lease_token {
  project_id project{};
  task_key key;
  std::uint32_t number = 0;     ///< the project's running lease number, > 0
  std::uint32_t generation = 0; ///< of the record that was handed out
  std::uint64_t epoch = 0;      ///< of the shard that handed it out

  friend bool operator==(const lease_token&, const lease_token&) = default;
};

/// URL-safe base64 of the token, 48 characters.
[[nodiscard]] std::string to_text(const lease_token& token);

/// The token of a text made by `to_text`; none for anything else.
[[nodiscard]] std::optional<lease_token> parse_lease(std::string_view text) noexcept;

} // namespace lycosa
