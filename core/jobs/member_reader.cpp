#include "core/jobs/member_reader.hpp"

#include "core/edit_distance.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>
#include <cmath>

namespace lycosa::jobs::detail {

namespace {

constexpr double longest_seconds = 1e11; ///< 3,000 years

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
    const auto near = nearest_name(key, {names.begin(), names.size()});
    return refuse(key, near.empty()
                           ? "unknown"
                           : "unknown; the nearest known name is \"" + std::string(near) + "\"");
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
    auto d = trigger::parse_duration(value.get<std::string>(), name);
    if (d) return *d;
    refuse(name, d.error().why);
    return std::nullopt;
  }
  refuse(name, "expected a number of seconds from 0 to 1e11, or a text such as 5m");
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
