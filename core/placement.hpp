#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace lycosa {

/// 128-bit name of a task: XXH3-128 over `project NUL taskid`. Part of the disk format
/// (index keys) and of the shard rule. DO NOT CHANGE.
struct task_hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const task_hash&, const task_hash&) = default;
};

[[nodiscard]] task_hash hash_task(std::string_view project, std::string_view taskid) noexcept;

/// The shard a task belongs to: `low mod shards`, the rule of pyspider's ThreadBaseScheduler with
/// a stable hash. Fixed when the data directory is made. Precondition: shards > 0.
[[nodiscard]] constexpr std::uint16_t shard_of(const task_hash& hash,
                                               std::uint16_t shards) noexcept {
  return static_cast<std::uint16_t>(hash.low % shards);
}

/// Digest of an itag for the index; never 0, which stands for "no itag".
[[nodiscard]] std::uint64_t hash_itag(std::string_view itag) noexcept;

} // namespace lycosa
