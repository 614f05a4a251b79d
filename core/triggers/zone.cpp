#include "core/triggers/zone.hpp"

#include "core/triggers/zone_file.hpp"

#include <date/tz.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lycosa::trigger {
namespace {

using std::chrono::seconds;

/// The rules of one zone at the time they were read. Never changed once published.
struct zone_rules {
  detail::zone_table table;
  std::unique_ptr<const zone_rules> older; ///< kept for searches that still read it
};

std::unique_ptr<zone_rules> read_rules(std::string_view name) {
  auto table = detail::read_zone_file(name);
  if (!table) return nullptr;
  auto rules = std::make_unique<zone_rules>();
  rules->table = std::move(*table);
  return rules;
}

wall_time from_unix(std::int64_t s) {
  return wall_time{seconds{s}};
}

} // namespace

namespace detail {

struct zone_slot {
  std::string name;
  std::atomic<const zone_rules*> rules{nullptr};
  zone_slot* next = nullptr;
};

} // namespace detail

namespace {

/// All zones used so far. Grows only, so that handles stay valid and readers need no lock.
std::atomic<detail::zone_slot*>& all_zones() {
  static std::atomic<detail::zone_slot*> head{nullptr};
  return head;
}

detail::zone_slot* find_slot(std::string_view name) {
  for (auto* s = all_zones().load(std::memory_order_acquire); s; s = s->next)
    if (s->name == name) return s;
  return nullptr;
}

detail::zone_slot* add_slot(std::string_view name, std::unique_ptr<zone_rules> rules) {
  auto slot = std::make_unique<detail::zone_slot>();
  slot->name = name;
  slot->rules.store(rules.release(), std::memory_order_release);
  slot->next = all_zones().load(std::memory_order_acquire);
  while (!all_zones().compare_exchange_weak(slot->next, slot.get(), std::memory_order_acq_rel)) {
  }
  // Two threads may add the same name at once; everyone then agrees on the one nearest the end.
  detail::zone_slot* agreed = slot.release();
  for (auto* s = agreed->next; s; s = s->next)
    if (s->name == name) agreed = s;
  return agreed;
}

offset_span tail_span(const posix_tail& tail, wall_time from, seconds from_offset, wall_time t) {
  const int year = static_cast<int>(
      std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(t)}.year());
  offset_span span{from, wall_time::max(), from_offset};
  for (int y = year - 1; y <= year + 1; ++y)
    for (const auto& c : tail.changes(y)) {
      if (c.at <= from) continue;
      if (c.at > t) {
        span.end = c.at;
        return span;
      }
      span.begin = c.at;
      span.offset = c.after;
    }
  return span;
}

const detail::zone_slot* utc_slot() {
  static const detail::zone_slot* slot = [] {
    auto rules = std::make_unique<zone_rules>(); // works without any database
    rules->table.offsets.push_back(0);
    return add_slot("UTC", std::move(rules));
  }();
  return slot;
}

} // namespace

namespace {

/// Tells whether the machine's choice of a zone may have changed, at the cost of two looks at
/// names. Following the links, as the date library does, costs ten times as much, and each job
/// without a zone of its own would pay it.
using zone_choice = std::array<std::int64_t, 6>;

zone_choice zone_choice_now() {
  zone_choice out{};
  std::size_t n = 0;
  for (const auto name : local_zone_files()) {
    struct stat st {};
    if (::lstat(name.data(), &st) != 0) st = {};
    out[n++] = static_cast<std::int64_t>(st.st_ino);
    out[n++] = st.st_ctim.tv_sec;
    out[n++] = st.st_ctim.tv_nsec;
  }
  return out;
}

/// The machine's zone as jobs know it; none = nobody has asked yet.
std::atomic<const char*>& local_in_use() {
  static std::atomic<const char*> name{nullptr}; // of one zone there is one
  return name;
}

zone find_local() try {
  return zone::find(date::current_zone()->name()).value_or(zone{});
} catch (const std::exception&) {
  return zone{};
}

} // namespace

zone::zone() : slot_(utc_slot()) {}

result<zone> zone::find(std::string_view name) {
  const auto* utc = utc_slot();
  if (name == "UTC" || name == "utc" || name == "Z" || name == "Etc/UTC") return zone{utc};
  if (const auto* slot = find_slot(name)) return zone{slot};
  auto rules = read_rules(name);
  if (!rules)
    return fail(errc::invalid_argument, "timezone",
                "unknown time zone '" + std::string(name) + "'");
  return zone{add_slot(name, std::move(rules))};
}

zone zone::local() {
  thread_local std::optional<std::pair<zone_choice, zone>> known;
  const auto choice = zone_choice_now();
  if (!known || known->first != choice) known.emplace(choice, find_local());
  const char* none = nullptr;
  local_in_use().compare_exchange_strong(none, known->second.name().data());
  return known->second;
}

std::string_view zone::name() const {
  return slot_->name;
}

offset_span zone::at(wall_time t) const {
  const detail::zone_table& r = slot_->rules.load(std::memory_order_acquire)->table;
  const auto s = std::chrono::floor<seconds>(t).time_since_epoch().count();
  const auto i = static_cast<std::size_t>(std::upper_bound(r.begins.begin(), r.begins.end(), s)
                                          - r.begins.begin());
  const wall_time begin = i == 0 ? wall_time::min() : from_unix(r.begins[i - 1]);
  if (i == r.begins.size() && r.tail) {
    // A file without transitions but with a rule follows the rule from the start.
    const wall_time from = i == 0 ? from_unix(0) : begin;
    if (t >= from) return tail_span(*r.tail, from, seconds{r.offsets[i]}, t);
  }
  const wall_time end = i == r.begins.size() ? wall_time::max() : from_unix(r.begins[i]);
  return {begin, end, seconds{r.offsets[i]}};
}

zone::instants zone::find_instants(local_time t) const {
  instants found;
  const wall_time middle{t.time_since_epoch()};
  for (auto span = at(middle - offset_margin);; span = at(span.end)) {
    const wall_time u = span.to_wall(t);
    if (u >= span.begin && u < span.end && found.count < found.at.size())
      found.at[found.count++] = u;
    if (span.end >= middle + offset_margin) return found;
  }
}

bool reload_zones() {
  bool changed = false;
  for (auto* s = all_zones().load(std::memory_order_acquire); s; s = s->next) {
    if (s == utc_slot()) continue;
    auto fresh = read_rules(s->name);
    const auto* old = s->rules.load(std::memory_order_acquire);
    if (!fresh || fresh->table == old->table) continue;
    fresh->older.reset(old);
    s->rules.store(fresh.release(), std::memory_order_release);
    changed = true;
  }
  const char* now = zone::local().name().data();
  const char* before = local_in_use().exchange(now);
  return changed || (before && before != now);
}

std::span<const std::string_view> local_zone_files() {
  static constexpr std::array<std::string_view, 2> files{"/etc/localtime", "/etc/timezone"};
  return files;
}

} // namespace lycosa::trigger
