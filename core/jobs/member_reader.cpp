#include "core/jobs/member_reader.hpp"

#include "core/triggers/time_text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lycosa::jobs::detail {

namespace {

constexpr double longest_seconds = 1e11; ///< 3,000 years

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < b.size(); ++k) {
      const auto change = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({change, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

} // namespace

result<json> parse_object(std::string_view text, std::string_view field) {
  try {
    auto j = json::parse(text);
    if (!j.is_object()) return fail(errc::invalid_argument, std::string(field), "not an object");
    return j;
  } catch (const json::exception&) {
    return fail(errc::invalid_argument, std::string(field), "this is not JSON");
  }
}

std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

double to_seconds(usec d) {
  return static_cast<double>(d.count()) / 1e6;
}

void member_reader::only(std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const auto nearest =
        *std::min_element(names.begin(), names.end(), [&key = key](auto a, auto b) {
          return distance(key, a) < distance(key, b);
        });
    return refuse(key, "unknown; the nearest known name is \"" + std::string(nearest) + "\"");
  }
}

const json* member_reader::find(std::string_view name) const {
  const auto i = object_.find(std::string(name));
  return i == object_.end() || i->is_null() ? nullptr : &*i;
}

void member_reader::text(std::string_view name, std::string& out) {
  const auto* v = find(name);
  if (!v) return;
  if (!v->is_string()) return refuse(name, "expected a string");
  out = v->get<std::string>();
}

void member_reader::system_text(std::string_view name, std::string& out) {
  text(name, out);
  if (out.find('\0') != std::string::npos) refuse(name, "holds a NUL byte");
}

void member_reader::flag(std::string_view name, bool& out) {
  const auto* v = find(name);
  if (!v) return;
  if (!v->is_boolean()) return refuse(name, "expected true or false");
  out = v->get<bool>();
}

void member_reader::whole(std::string_view name, std::uint32_t low, std::uint32_t high,
                          std::uint32_t& out) {
  const auto* v = find(name);
  if (!v) return;
  const bool number = v->is_number_integer();
  if (!number || v->get<std::int64_t>() < low || v->get<std::int64_t>() > high)
    return refuse(name, "expected a whole number from " + std::to_string(low) + " to "
                            + std::to_string(high));
  out = v->get<std::uint32_t>();
}

std::optional<usec> member_reader::seconds_of(const json& value, const std::string& name) {
  if (value.is_number()) {
    const double s = value.get<double>();
    if (s >= 0 && s <= longest_seconds) return usec{std::llround(s * 1e6)};
  } else if (value.is_string()) {
    if (auto d = trigger::parse_duration(value.get<std::string>(), name)) return *d;
  }
  refuse(name, "expected a number of seconds, 0 or more");
  return std::nullopt;
}

void member_reader::seconds(std::string_view name, usec& out) {
  const auto* v = find(name);
  if (!v) return;
  if (auto d = seconds_of(*v, std::string(name))) out = *d;
}

void member_reader::optional_seconds(std::string_view name, std::optional<usec>& out) {
  const auto i = object_.find(std::string(name));
  if (i == object_.end()) return;
  if (i->is_null())
    out.reset();
  else if (auto d = seconds_of(*i, std::string(name)))
    out = *d;
}

void member_reader::refuse(std::string_view name, std::string why) {
  if (!failure_) failure_ = error{errc::invalid_argument, name_of(name), std::move(why)};
}

} // namespace lycosa::jobs::detail
