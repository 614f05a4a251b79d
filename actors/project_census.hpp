#pragma once

#include "actors/meters.hpp"
#include "actors/node.hpp"
#include "actors/registry.hpp"

#include <map>
#include <mutex>

namespace lycosa::actors {

/// Chooses which projects a look at the node names, and counts the others together. However often
/// the choice changes, what is counted together never becomes less, as a counter must not: a
/// project that is named brings along nothing that was told of the others before, and what it
/// counted while it was named is not told again when it is not.
class project_census {
public:
  using counts = std::array<std::uint64_t, tallies>;

  /// Fills in the projects of `into`, at most `limit` of them by name: those that have counted and
  /// queued most. One that is named stays so until another has twice as much. `total` is of all
  /// projects there ever were, looked at before `projects` were: what a younger one counts must not
  /// be told of the others.
  void look(const counts& total, const std::vector<registry::measured>& projects, std::size_t limit,
            mono_time now, metrics_view& into);

private:
  struct named {
    std::string name;
    counts before{}; ///< counted by then; part of what is told of the others
    counts told{};   ///< counted when it was told last
  };
  struct seen {
    const registry::measured* entry = nullptr;
    counts values{};
    std::uint64_t queued = 0;
    std::uint64_t weight = 0;
    bool is_new = false; ///< nothing of it has been told yet
  };

  void forget(std::map<project_id, named>::iterator i);
  void name(const seen& s);

  std::mutex mutex_;
  std::map<project_id, named> named_;
  counts gone_{};            ///< told of projects while they were named
  counts other_{};           ///< told of the others
  std::uint32_t newest_ = 0; ///< greatest project_id that was ever looked at
};

} // namespace lycosa::actors
