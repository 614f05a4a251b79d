#pragma once

#include "core/task.hpp"
#include "core/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// How long a project's settled tasks are kept. A task that is removed is unknown afterwards: sent
/// again, it is new.
namespace lycosa {

struct retention {
  usec age{};              ///< since the task ceased to be ACTIVE; 0 = for ever
  std::uint64_t count = 0; ///< about so many, the oldest by arrival go first; 0 = all

  [[nodiscard]] bool bounded() const { return age > usec{0} || count > 0; }
  friend bool operator==(const retention&, const retention&) = default;
};

/// One bounded look through the settled tasks of a project in a shard.
struct settled_sweep {
  std::uint64_t excess = 0; ///< so many of the oldest by arrival go, whatever their age
  wall_time older_than{};   ///< those settled before go too; the epoch = none
  /// Where the look by age goes on: after this task, in order of status and arrival.
  task_status status = task_status::success;
  std::uint64_t after = 0;
};

struct sweep_outcome {
  std::size_t erased = 0;
  bool end = true; ///< the look by age has seen all; else it goes on after `status`, `after`
  task_status status = task_status::success;
  std::uint64_t after = 0;
};

/// Decides when which shard is swept. By count as soon as a shard has more than its share and some
/// slack; by age in rounds, 16 in the time that tasks are kept, at least 10 s and at most 1 h
/// apart. One sweep a shard at a time.
class retention_watch {
public:
  explicit retention_watch(std::size_t shards) : shards_(shards) {}

  /// Another bound starts a round by age at once.
  void set(const retention& bounds, mono_time now);

  /// What to remove now from a shard that has `settled` tasks; it counts as under way until `done`.
  [[nodiscard]] std::optional<settled_sweep> begin(std::size_t shard, std::uint64_t settled,
                                                   instant now);

  /// A sweep has come back; none = it failed, and is tried again half a minute later.
  void done(std::size_t shard, const std::optional<sweep_outcome>& outcome, mono_time now);

  /// When `begin` may have something to do, though no counts change.
  [[nodiscard]] std::optional<mono_time> next() const;

private:
  struct state {
    bool out = false;
    bool in_round = false; ///< and it goes on after `status`, `after`
    mono_time not_before{};
    mono_time next_round{};
    task_status status = task_status::success;
    std::uint64_t after = 0;
  };
  [[nodiscard]] usec period() const;

  retention bounds_;
  std::vector<state> shards_;
};

} // namespace lycosa
