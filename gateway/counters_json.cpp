#include "gateway/counters_json.hpp"

#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <utility>

namespace lycosa::gateway {

namespace {

using actors::counter_set;

constexpr std::pair<std::string_view, counter_set> names[]{
    {"5m_time", counter_set::five_minutes_time},
    {"5m", counter_set::five_minutes},
    {"1h", counter_set::hour},
    {"1d", counter_set::day},
    {"all", counter_set::all}};

void append_value(std::string& to, std::string_view name, double value) {
  append_key(to, name);
  append_double(to, value);
}

} // namespace

std::optional<counter_set> parse_counter_set(std::string_view name) noexcept {
  for (const auto& [known, set] : names)
    if (known == name) return set;
  return std::nullopt;
}

std::string counters_json(counter_set set, const std::vector<actors::counter_view>& all) {
  std::string b = "{";
  for (const auto& c : all) {
    append_key(b, c.project);
    b += '{';
    if (set == counter_set::five_minutes_time) {
      append_value(b, "fetch_time", c.times.fetch_time);
      append_value(b, "process_time", c.times.process_time);
    } else {
      append_value(b, "pending", c.events.pending);
      append_value(b, "success", c.events.success);
      if (set != counter_set::all) append_value(b, "retry", c.events.retry);
      append_value(b, "failed", c.events.failed);
    }
    b += '}';
  }
  b += '}';
  return b;
}

} // namespace lycosa::gateway
