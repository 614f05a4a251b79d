#pragma once

#include "actors/meters.hpp"
#include "actors/node.hpp"
#include "actors/registry.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace lycosa::actors {

/// Chooses which projects a look at the node names, and counts the others together. However often
/// the choice changes, what is counted together never becomes less, as a counter must not: a
/// project that is named brings along nothing that was told of the others before, and what it
/// counted while it was named is not told again when it is not. A look takes memory for those that
/// are named alone, however many there are.
class project_census {
public:
  using counts = std::array<std::uint64_t, tallies>;

  /// Fills in the projects of `into`, at most `limit` of them by name: those that have counted and
  /// queued most. One that is named stays so until another has twice as much. `total` is of all
  /// projects there ever were, looked at before this: what a younger one counts must not be told of
  /// the others.
  void look(const counts& total, const registry& projects, std::size_t limit, mono_time now,
            metrics_view& into);

private:
  struct named {
    counts before{}; ///< counted by then; part of what is told of the others
    counts told{};   ///< counted when it was told last
  };
  /// A project as it is now.
  struct seen {
    project_id id{};
    project_metrics now;      ///< with all it has counted
    std::uint64_t weight = 0; ///< counted and queued
    bool is_new = false;      ///< nothing of it has been told yet
  };
  using seen_by_id = std::map<project_id, seen>;

  static bool weighs_more(const seen& a, const seen& b);
  static void add_states(project_metrics& to, const project_metrics& from);
  void forget(project_id id);
  void name(const seen& s);
  void choose(std::vector<seen> candidates, std::size_t limit, seen_by_id& current,
              project_metrics& rest);

  std::mutex mutex_;
  std::map<project_id, named> named_;
  counts gone_{};            ///< told of projects while they were named
  counts other_{};           ///< told of the others
  std::uint32_t newest_ = 0; ///< greatest project_id that was ever looked at
};

} // namespace lycosa::actors
