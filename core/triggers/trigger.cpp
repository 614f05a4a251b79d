#include "core/triggers/trigger.hpp"

#include "core/triggers/cron_fields.hpp"
#include "core/triggers/node.hpp"

#include <algorithm>

namespace lycosa::trigger {
namespace {

using namespace detail;

/// Times outside are never asked for; inside, no sum below can overflow.
constexpr wall_time earliest{std::chrono::sys_days{std::chrono::year{1} / 1 / 1}};
constexpr wall_time latest{std::chrono::sys_days{std::chrono::year{9999} / 12 / 31}};

const std::shared_ptr<const node>& never_node() {
  static const auto n = std::make_shared<const node>();
  return n;
}

std::optional<wall_time> next_interval(const interval_rule& r, const node& n,
                                       std::optional<wall_time> previous, wall_time now) {
  if (!previous) {
    if (n.has_start()) return n.first(std::max(now, n.start));
    return r.wall_clock ? first_of(r, n, now) : std::optional(now + r.length);
  }
  if (r.wall_clock) return n.first(*previous + usec{1});
  return std::max(*previous + r.length, n.start);
}

std::optional<wall_time> next_step(const step_rule& r, const node& n,
                                   std::optional<wall_time> previous, wall_time now) {
  const wall_time x = previous ? *previous + usec{1} : now;
  if (r.has_start) return first_of(r, n, std::max(x, n.start), r.start);
  // Without a start the steps are counted from the last run, or from today.
  const auto anchor = previous.value_or(now);
  const auto today = std::chrono::floor<std::chrono::days>(n.tz.at(anchor).to_local(anchor));
  return first_of(r, n, std::max(x, n.start), today);
}

std::optional<wall_time> next_nominal(const node& n, std::optional<wall_time> previous,
                                      wall_time now) {
  if (const auto* d = std::get_if<date_rule>(&n.rule))
    return previous ? std::nullopt : std::optional(d->at);
  if (const auto* i = std::get_if<interval_rule>(&n.rule))
    return next_interval(*i, n, previous, now);
  if (const auto* s = std::get_if<step_rule>(&n.rule)) return next_step(*s, n, previous, now);
  if (const auto* a = std::get_if<and_rule>(&n.rule))
    if (previous && *previous >= n.start) return next_of(*a, *previous);
  return n.first(std::max(previous ? *previous + usec{1} : now, n.start));
}

} // namespace

namespace detail {

std::optional<wall_time> node::first(wall_time x) const {
  struct visitor {
    const node& n;
    wall_time x;
    std::optional<wall_time> operator()(const start_rule&) const { return std::nullopt; }
    std::optional<wall_time> operator()(const date_rule& r) const {
      return r.at >= x ? std::optional(r.at) : std::nullopt;
    }
    std::optional<wall_time> operator()(const calendar_pattern& p) const {
      if (p.impossible()) return std::nullopt;
      return search_wall(n.tz, x, n.policy, [&p](local_time t) { return p.next(t); });
    }
    std::optional<wall_time> operator()(const step_rule& r) const {
      const auto start =
          r.has_start ? r.start : std::chrono::floor<std::chrono::days>(n.tz.at(x).to_local(x));
      return first_of(r, n, x, start);
    }
    std::optional<wall_time> operator()(const interval_rule& r) const { return first_of(r, n, x); }
    std::optional<wall_time> operator()(const and_rule& r) const { return first_of(r, x); }
    std::optional<wall_time> operator()(const or_rule& r) const { return first_of(r, x); }
    std::optional<wall_time> operator()(const except_rule& r) const { return first_of(r, n, x); }
  };
  x = std::max({x, start, earliest});
  if (x > latest) return std::nullopt;
  return std::visit(visitor{*this, x}, rule);
}

} // namespace detail

trigger::trigger() : node_(never_node()) {}

std::optional<wall_time> trigger::next(std::optional<wall_time> previous, wall_time now) const {
  const search_budget budget;
  now = std::clamp(now, earliest, latest);
  if (previous) {
    if (*previous >= latest) return std::nullopt;
    previous = std::max(*previous, earliest);
  }
  const auto t = next_nominal(*node_, previous, now);
  if (!t || *t > node_->end || *t > latest) return std::nullopt;
  return t;
}

std::optional<wall_time> trigger::first_from(wall_time from) const {
  const search_budget budget;
  if (!search_budget::spend()) return std::nullopt;
  const auto t = node_->first(from);
  if (!t || *t > node_->end || *t > latest) return std::nullopt;
  return t;
}

std::optional<fire> trigger::plan(std::optional<wall_time> previous, wall_time now,
                                  std::uint64_t seed) const {
  const auto nominal = next(previous, now);
  if (!nominal) return std::nullopt;
  fire f{*nominal, usec{0}};
  if (node_->jitter.count() <= 0) return f;
  usec room = node_->jitter;
  // Never past the end, never onto the next nominal time: runs keep their order and their number.
  room = std::min(room, node_->end == wall_time::max() ? room : node_->end - *nominal);
  if (const auto following = next(nominal, *nominal))
    room = std::min(room, *following - *nominal - usec{1});
  if (room.count() > 0) {
    const auto at = static_cast<std::uint64_t>(nominal->time_since_epoch().count());
    f.jitter = usec{
        static_cast<std::int64_t>(mix(seed, at) % (static_cast<std::uint64_t>(room.count()) + 1))};
  }
  return f;
}

std::vector<wall_time> trigger::upcoming(std::optional<wall_time> previous, wall_time now,
                                         std::size_t count) const {
  const search_budget budget(search_budget::usual + static_cast<std::int64_t>(count) * 1'000);
  std::vector<wall_time> times;
  while (times.size() < count) {
    const auto t = next(previous, now);
    if (!t) break;
    times.push_back(*t);
    previous = now = *t;
  }
  return times;
}

bool trigger::at_start() const {
  const auto* r = std::get_if<start_rule>(&node_->rule);
  return r != nullptr && r->at_start;
}

usec trigger::jitter() const {
  return node_->jitter;
}

zone trigger::timezone() const {
  return node_->tz;
}

std::size_t trigger::memory() const {
  std::size_t bytes = sizeof(node) + 16; // and the counters of the shared pointer
  if (const auto* p = std::get_if<calendar_pattern>(&node_->rule))
    bytes +=
        p->years.capacity() * sizeof(year_range) + p->fractions.capacity() * sizeof(second_range);
  const auto add_all = [&bytes](const std::vector<trigger>& members) {
    for (const auto& m : members)
      bytes += sizeof(trigger) + m.memory();
  };
  if (const auto* r = std::get_if<and_rule>(&node_->rule)) add_all(r->members);
  if (const auto* r = std::get_if<or_rule>(&node_->rule)) add_all(r->members);
  if (const auto* r = std::get_if<except_rule>(&node_->rule)) {
    add_all(r->times);
    bytes += r->base.memory() + r->days.capacity() * sizeof(day_range);
  }
  return bytes;
}

bool operator==(const trigger& a, const trigger& b) {
  return a.node_ == b.node_ || *a.node_ == *b.node_;
}

} // namespace lycosa::trigger
