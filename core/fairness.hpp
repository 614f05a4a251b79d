#pragma once

#include "core/types.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lycosa {

/// Shares the demand of consumers among the projects that could use it: round robin, each round
/// dividing what is left of the demand evenly. What a project does not use goes to the others,
/// never to its own later turns. Every operation is O(1).
///
/// A *grant* is one demand being dealt out: calls of `next` with falling credit. A credit higher
/// than the last one begins a new grant; the rotation goes on where it was, so that with less
/// credit than projects all of them are served in turn over several grants.
///
/// Invariants: the ring holds exactly the projects of `places_`; `cursor_` is who is next, or
/// none when the ring is empty.
class fair_rotation {
public:
  /// `max_quantum` > 0: most tasks a project gets at a turn, however large the demand.
  explicit fair_rotation(std::uint32_t max_quantum = 1024) : max_quantum_(max_quantum) {}

  struct turn {
    project_id project{};
    std::uint32_t quantum = 0; ///< tasks it may hand out, ≥ 1, ≤ credit
  };

  /// Puts a project at the end of the rotation. No effect if it is there.
  void add(project_id project);
  /// Takes a project out, e.g. when it has nothing to hand out. No effect if it is not there.
  void remove(project_id project);
  [[nodiscard]] bool contains(project_id project) const { return places_.contains(project); }
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }

  /// Whose turn it is, given that `credit` tasks are wanted. None without credit or projects.
  [[nodiscard]] std::optional<turn> next(std::uint64_t credit);

private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  struct node {
    project_id project{};
    std::uint32_t prev = none;
    std::uint32_t next = none;
  };

  void begin_round(std::uint64_t credit);

  std::vector<node> ring_;
  std::vector<std::uint32_t> unused_;
  std::unordered_map<project_id, std::uint32_t> places_;
  std::uint32_t cursor_ = none;
  std::uint32_t max_quantum_;
  std::uint32_t quantum_ = 1;  ///< of this round
  std::size_t round_left_ = 0; ///< turns left in this round
  std::uint64_t last_credit_ = 0;
};

} // namespace lycosa
