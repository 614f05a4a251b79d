#include "core/triggers/node.hpp"

#include <algorithm>
#include <numeric>

namespace lycosa::trigger::detail {
namespace {

using namespace std::chrono;

__extension__ typedef __int128 wide;

/// The times of a member that keeps to a grid: `offset` plus multiples of `step`.
struct grid {
  wide offset = 0, step = 1;
};

/// Where two grids coincide; empty when never. Exact, so that intervals which miss each other by a
/// microsecond are known to never meet without trying.
std::optional<grid> meet(const grid& a, const grid& b) {
  // Extended Euclid: a.step * u ≡ g (mod b.step).
  wide r0 = a.step, r1 = b.step, u0 = 1, u1 = 0;
  while (r1 != 0) {
    const wide q = r0 / r1;
    r0 -= q * r1;
    std::swap(r0, r1);
    u0 -= q * u1;
    std::swap(u0, u1);
  }
  const wide g = r0, gap = b.offset - a.offset;
  if (gap % g != 0) return std::nullopt;
  const wide modulus = b.step / g;
  wide k = (gap / g) % modulus * (u0 % modulus) % modulus;
  if (k < 0) k += modulus;
  const wide step = a.step / g * b.step;
  if (step > wide{1} << 62) return std::nullopt; // more than a hundred thousand years apart
  return grid{a.offset + k * a.step, step};
}

/// What a member's times are known to be multiples of: calendars name whole seconds.
std::optional<grid> grid_of(const node& n) {
  if (const auto* i = std::get_if<interval_rule>(&n.rule); i && !i->wall_clock)
    return grid{n.has_start() ? n.start.time_since_epoch().count() : 0, i->length.count()};
  if (const auto* p = std::get_if<calendar_pattern>(&n.rule); p && p->fractions.empty())
    return grid{0, 1'000'000};
  return std::nullopt;
}

/// True when two calendars of one zone have no hour, minute, second or month in common.
bool never_together(const node& a, const node& b) {
  const auto* p = std::get_if<calendar_pattern>(&a.rule);
  const auto* q = std::get_if<calendar_pattern>(&b.rule);
  if (!p || !q || a.tz != b.tz) return false;
  for (const auto* n : {&a, &b}) // where readings in gaps move, fields may change
    if (n->policy.cronie || n->policy.gap != gap_policy::skip) return false;
  const bool whole = p->fractions.empty() && q->fractions.empty();
  return (p->hours & q->hours) == 0 || (p->minutes & q->minutes) == 0
         || (p->months & q->months) == 0 || (whole && (p->seconds & q->seconds) == 0);
}

/// The first time on the members' common grid that is not before `t`.
wall_time align(const and_rule& r, wall_time t) {
  if (r.step <= 1) return t;
  const auto rest = (t.time_since_epoch().count() - r.phase) % r.step;
  if (rest == 0) return t;
  return t + usec{rest > 0 ? r.step - rest : -rest};
}

/// Leapfrog: whoever is behind moves on until all are within the threshold of the earliest.
std::optional<wall_time> meeting(const and_rule& r, std::vector<wall_time> bounds) {
  if (r.members.empty() || r.impossible) return std::nullopt;
  for (auto& b : bounds)
    b = align(r, b);
  std::vector<wall_time> at(r.members.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto t = r.members[i].first_from(bounds[i]);
    if (!t) return std::nullopt;
    at[i] = *t;
  }
  while (search_budget::spend()) {
    const auto [low, high] = std::minmax_element(at.begin(), at.end());
    if (*high - *low <= r.threshold) return *low;
    const wall_time goal = align(r, *high - r.threshold);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] >= goal) continue; // never behind what it has reached
      const auto t = r.members[i].first_from(goal);
      if (!t) return std::nullopt;
      at[i] = *t;
    }
  }
  return std::nullopt;
}

bool excluded_day(const except_rule& r, local_days day) {
  const year_month_day date{day};
  return std::any_of(r.days.begin(), r.days.end(), [&](const day_range& d) {
    if (d.month == 0) return day >= d.first && day <= d.last;
    return date.month() == month{d.month} && date.day() == std::chrono::day{d.day};
  });
}

} // namespace

void find_grid(and_rule& r) {
  r.phase = 0;
  r.step = 1;
  r.impossible = false;
  if (r.threshold.count() > 0) return;
  for (std::size_t i = 0; i < r.members.size() && !r.impossible; ++i)
    for (std::size_t k = 0; k < i && k < 16 && !r.impossible; ++k)
      r.impossible = never_together(r.members[i].content(), r.members[k].content());
  if (r.impossible) return;
  grid common;
  for (const auto& m : r.members) {
    const auto own = grid_of(m.content());
    if (!own) continue;
    const auto both = meet(common, *own);
    if (!both) {
      r.impossible = true;
      return;
    }
    common = *both;
  }
  r.step = static_cast<std::int64_t>(common.step);
  r.phase = static_cast<std::int64_t>(common.offset % common.step);
}

std::optional<wall_time> first_of(const or_rule& r, wall_time x) {
  std::optional<wall_time> best;
  for (std::size_t i = 0; i < r.members.size(); ++i) {
    const search_budget::share own(r.members.size() - i);
    if (const auto t = r.members[i].first_from(x); t && (!best || *t < *best)) best = t;
  }
  return best;
}

std::optional<wall_time> first_of(const and_rule& r, wall_time x) {
  return meeting(r, std::vector<wall_time>(r.members.size(), x));
}

std::optional<wall_time> next_of(const and_rule& r, wall_time previous) {
  std::vector<wall_time> bounds(r.members.size(), previous + usec{1});
  if (r.threshold.count() > 0) {
    std::vector<wall_time> met;
    for (const auto& m : r.members)
      if (const auto t = m.first_from(previous); t && *t - previous <= r.threshold)
        met.push_back(*t);
    if (met.size() == r.members.size() && *std::min_element(met.begin(), met.end()) == previous)
      for (std::size_t i = 0; i < met.size(); ++i)
        bounds[i] = met[i] + usec{1};
  }
  return meeting(r, std::move(bounds));
}

std::optional<wall_time> first_of(const except_rule& r, const node& n, wall_time x) {
  while (search_budget::spend(1 + static_cast<std::int64_t>(r.days.size() / 32))) {
    const auto t = r.base.first_from(x);
    if (!t) return std::nullopt;
    const auto span = n.tz.at(*t);
    const local_days day = floor<std::chrono::days>(span.to_local(*t));
    if (!r.days.empty() && excluded_day(r, day)) {
      // On to the first instant of the next day, wherever the clocks put it.
      x = std::min(span.to_wall(day + std::chrono::days{1}), span.end);
      x = std::max(x, *t + usec{1});
      continue;
    }
    const bool hit = std::any_of(r.times.begin(), r.times.end(),
                                 [&](const trigger& e) { return e.first_from(*t) == t; });
    if (!hit) return t;
    x = *t + usec{1};
  }
  return std::nullopt;
}

} // namespace lycosa::trigger::detail
