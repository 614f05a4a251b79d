#include "actors/project_census.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

constexpr std::string_view others = "other";

/// Adds what the project holds now; its counts are its reader's.
void add_states(project_metrics& to, const project_meter& m, mono_time now) {
  to.ready += m.ready.load(std::memory_order_relaxed);
  to.delayed += m.delayed.load(std::memory_order_relaxed);
  to.processing += m.processing.load(std::memory_order_relaxed);
  to.on_disk += m.on_disk.load(std::memory_order_relaxed);
  to.paused += m.paused.load(std::memory_order_relaxed) ? 1 : 0;
  const auto oldest = m.oldest_lease.load(std::memory_order_relaxed);
  if (const auto moment = lease_moment(now); oldest > 0 && moment > oldest)
    to.oldest_lease = std::max<std::uint64_t>(to.oldest_lease, moment - oldest);
}

} // namespace

void project_census::forget(std::map<project_id, named>::iterator i) {
  for (std::size_t k = 0; k < tallies; ++k)
    gone_[k] += i->second.told[k] - i->second.before[k];
  named_.erase(i);
}

void project_census::name(const seen& s) {
  named n;
  n.name = s.entry->facts->name;
  if (!s.is_new) n.before = s.values;
  n.told = n.before;
  named_.emplace(s.entry->facts->id, std::move(n));
}

void project_census::look(const counts& total, const std::vector<registry::measured>& projects,
                          std::size_t limit, mono_time now, metrics_view& into) {
  const std::lock_guard lock(mutex_);
  into.projects_known = projects.size();

  std::map<project_id, seen> current; // of those that are named
  std::vector<seen> candidates;
  auto newest = newest_;
  for (const auto& e : projects) {
    seen s;
    s.entry = &e;
    s.values = e.meter->counts.look();
    project_metrics states;
    add_states(states, *e.meter, now);
    s.queued = states.ready + states.delayed + states.processing + states.on_disk;
    s.weight = s.queued;
    for (const auto n : s.values)
      s.weight += n;
    const auto id = e.facts->id;
    s.is_new = static_cast<std::uint32_t>(id) > newest_;
    newest = std::max(newest, static_cast<std::uint32_t>(id));
    if (named_.contains(id)) {
      current.emplace(id, s);
    } else if (e.facts->name != others) { // whose name says what it is counted under
      candidates.push_back(s);
    }
  }
  newest_ = newest;
  for (auto n = named_.begin(); n != named_.end();)
    if (const auto i = n++; !current.contains(i->first)) forget(i);

  const auto top = std::min(candidates.size(), limit);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(top),
                    candidates.end(), [](const seen& a, const seen& b) {
                      if (a.weight != b.weight) return a.weight > b.weight;
                      return a.entry->facts->id < b.entry->facts->id;
                    });
  for (std::size_t i = 0; i < top; ++i) {
    const auto& best = candidates[i];
    if (named_.size() >= limit) {
      const auto least =
          std::min_element(current.begin(), current.end(), [](const auto& a, const auto& b) {
            return a.second.weight < b.second.weight;
          });
      if (least == current.end() || best.weight <= 2 * least->second.weight) break;
      forget(named_.find(least->first));
      current.erase(least);
    }
    name(best);
    current.emplace(best.entry->facts->id, best);
  }

  auto told = gone_;
  for (auto& [id, n] : named_) {
    const auto& s = current.at(id);
    project_metrics one;
    one.project = n.name;
    add_states(one, *s.entry->meter, now);
    for (std::size_t k = 0; k < tallies; ++k) {
      n.told[k] = s.values[k];
      one.counts[k] = n.told[k] - n.before[k];
      told[k] += one.counts[k];
    }
    into.projects.push_back(std::move(one));
  }
  project_metrics rest;
  rest.project = others;
  for (const auto& e : projects)
    if (!named_.contains(e.facts->id)) add_states(rest, *e.meter, now);
  // Counts go on while we look, so that the sum may lag behind its parts for a moment.
  for (std::size_t k = 0; k < tallies; ++k) {
    if (total[k] > told[k]) other_[k] = std::max(other_[k], total[k] - told[k]);
    rest.counts[k] = other_[k];
  }
  into.projects.push_back(std::move(rest));
}

} // namespace lycosa::actors
