#include "actors/project_census.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

constexpr std::string_view others = "other";

project_metrics read(const project_meter& m, std::uint32_t now) {
  constexpr auto order = std::memory_order_relaxed;
  project_metrics p;
  p.counts = m.counts.look();
  p.ready = m.ready.load(order);
  p.delayed = m.delayed.load(order);
  p.processing = m.processing.load(order);
  p.on_disk = m.on_disk.load(order);
  p.paused = m.paused.load(order) ? 1 : 0;
  if (const auto oldest = m.oldest_lease.load(order); oldest > 0 && now > oldest)
    p.oldest_lease = now - oldest;
  return p;
}

std::uint64_t weigh(const project_metrics& p) {
  auto n = p.ready + p.delayed + p.processing + p.on_disk;
  for (const auto c : p.counts)
    n += c;
  return n;
}

} // namespace

bool project_census::weighs_more(const seen& a, const seen& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
}

/// What they hold now; what they have counted is not added up, since that is the total's.
void project_census::add_states(project_metrics& to, const project_metrics& from) {
  to.ready += from.ready;
  to.delayed += from.delayed;
  to.processing += from.processing;
  to.on_disk += from.on_disk;
  to.paused += from.paused;
  to.oldest_lease = std::max(to.oldest_lease, from.oldest_lease);
}

void project_census::forget(project_id id) {
  const auto i = named_.find(id);
  for (std::size_t k = 0; k < tallies; ++k)
    gone_[k] += i->second.told[k] - i->second.before[k];
  named_.erase(i);
}

void project_census::name(const seen& s) {
  named n;
  if (!s.is_new) n.before = s.now.counts;
  n.told = n.before;
  named_.emplace(s.id, n);
}

/// Names candidates where there is room, or where they weigh twice as much as the least of those
/// that are named; the others are added to `rest`.
void project_census::choose(std::vector<seen> candidates, std::size_t limit, seen_by_id& current,
                            project_metrics& rest) {
  std::sort(candidates.begin(), candidates.end(), weighs_more);
  for (auto& best : candidates) {
    if (named_.size() >= limit) {
      const auto least = std::min_element(current.begin(), current.end(), [](auto& a, auto& b) {
        return a.second.weight < b.second.weight;
      });
      if (least == current.end() || best.weight <= 2 * least->second.weight) {
        add_states(rest, best.now);
        continue;
      }
      add_states(rest, least->second.now);
      forget(least->first);
      current.erase(least);
    }
    name(best);
    current.emplace(best.id, std::move(best));
  }
}

void project_census::look(const counts& total, const registry& projects, std::size_t limit,
                          mono_time now, metrics_view& into) {
  const std::lock_guard lock(mutex_);
  const auto moment = lease_moment(now);
  seen_by_id current; // of those that are named
  project_metrics rest;
  rest.project = others;
  std::vector<seen> heaviest; // of those that are not, at most `limit`: a heap, the lightest first
  auto newest = newest_;
  into.projects_known = 0;
  projects.each_meter([&](project_id id, std::string_view name, const project_meter& m) {
    into.projects_known += 1;
    const auto number = static_cast<std::uint32_t>(id);
    newest = std::max(newest, number);
    seen s{id, read(m, moment), 0, number > newest_};
    s.weight = weigh(s.now);
    if (named_.contains(id)) {
      s.now.project = name;
      current.emplace(id, std::move(s));
      return;
    }
    // The name of the others says what it is counted under.
    if (name == others || limit == 0) return add_states(rest, s.now);
    if (heaviest.size() == limit) {
      if (!weighs_more(s, heaviest.front())) return add_states(rest, s.now);
      std::pop_heap(heaviest.begin(), heaviest.end(), weighs_more);
      add_states(rest, heaviest.back().now);
      heaviest.pop_back();
    }
    s.now.project = name;
    heaviest.push_back(std::move(s));
    std::push_heap(heaviest.begin(), heaviest.end(), weighs_more);
  });
  newest_ = newest;
  for (auto n = named_.begin(); n != named_.end();)
    if (const auto id = (n++)->first; !current.contains(id)) forget(id);
  choose(std::move(heaviest), limit, current, rest);

  auto told = gone_;
  for (auto& [id, s] : current) {
    auto& n = named_.at(id);
    n.told = s.now.counts;
    for (std::size_t k = 0; k < tallies; ++k) {
      s.now.counts[k] -= n.before[k];
      told[k] += s.now.counts[k];
    }
    into.projects.push_back(std::move(s.now));
  }
  // Counts go on while we look, so that the sum may lag behind its parts for a moment.
  for (std::size_t k = 0; k < tallies; ++k) {
    if (total[k] > told[k]) other_[k] = std::max(other_[k], total[k] - told[k]);
    rest.counts[k] = other_[k];
  }
  into.projects.push_back(std::move(rest));
}

} // namespace lycosa::actors
