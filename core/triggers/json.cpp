#include "core/triggers/json.hpp"

#include "core/triggers/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace lycosa::trigger {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int max_depth = 16; ///< of combinations inside combinations

constexpr std::array<std::string_view, 18> numeric{
    "weeks",        "days",  "hours",  "minutes",   "seconds", "milliseconds",
    "microseconds", "years", "months", "threshold", "jitter",  "week",
    "day",          "month", "year",   "hour",      "minute",  "second"};

result<std::string> scalar(const json& v, const std::string& field) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_boolean()) return std::string(v.get<bool>() ? "true" : "false");
  if (v.is_number()) {
    // Numbers in place of ISO 8601 are Unix seconds.
    const bool time = field.ends_with("_date");
    std::string text = v.dump();
    if (v.is_number_float() && text.find_first_of("eE") != std::string::npos) {
      std::array<char, 64> plain{};
      std::snprintf(plain.data(), plain.size(), "%.6f", v.get<double>());
      text = plain.data();
    }
    if (v.is_number_float() && text.find('.') != std::string::npos) {
      while (text.back() == '0')
        text.pop_back(); // 2.0 is 2
      if (text.back() == '.') text.pop_back();
    }
    return time ? "@" + text : text;
  }
  return fail_field(field, "expected a string or a number");
}

result<spec> read(const json& j, const std::string& path, int depth);

result<void> read_members(const json& list, const std::string& path, int depth,
                          std::vector<spec>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto child = read(list[i], path + "[" + std::to_string(i) + "]", depth + 1);
    if (!child) return tl::unexpected(child.error());
    out.push_back(std::move(*child));
  }
  return {};
}

/// `except`: one trigger, or a list of triggers and of days.
result<void> read_exceptions(const json& v, const std::string& path, int depth, spec& out) {
  if (v.is_object()) {
    auto child = read(v, path, depth + 1);
    if (!child) return tl::unexpected(child.error());
    out.children.push_back(std::move(*child));
    return {};
  }
  if (!v.is_array()) return fail_field(path, "expected a trigger, or a list of dates and triggers");
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (v[i].is_string()) {
      out.dates.push_back(v[i].get<std::string>());
      continue;
    }
    auto child = read(v[i], at, depth + 1);
    if (!child) return tl::unexpected(child.error());
    out.children.push_back(std::move(*child));
  }
  return {};
}

result<spec> read(const json& j, const std::string& path, int depth) {
  const std::string prefix = path.empty() ? "" : path + ".";
  if (!j.is_object()) return fail_field(path.empty() ? "trigger" : path, "expected a JSON object");
  if (depth > max_depth) return fail_field(path, "nested too deeply");
  const auto type = j.find("type");
  if (type == j.end() || !type->is_string())
    return fail_field(prefix + "type", "the kind of trigger is missing");
  spec out;
  out.type = type->get<std::string>();
  const bool except = out.type == "except";
  if (except) {
    const auto base = j.find("trigger");
    if (base == j.end())
      return fail_field(prefix + "trigger", "the trigger to take from is missing");
    auto child = read(*base, prefix + "trigger", depth + 1);
    if (!child) return child;
    out.children.push_back(std::move(*child));
  }
  for (const auto& [key, value] : j.items()) {
    if (key == "type" || (except && key == "trigger") || value.is_null()) continue;
    if (key == "triggers" && (out.type == "and" || out.type == "or")) {
      if (!value.is_array()) return fail_field(prefix + key, "expected a list of triggers");
      if (const auto r = read_members(value, prefix + key, depth, out.children); !r)
        return tl::unexpected(r.error());
      continue;
    }
    if (except && key == "except") {
      if (const auto r = read_exceptions(value, prefix + key, depth, out); !r)
        return tl::unexpected(r.error());
      continue;
    }
    auto text = scalar(value, prefix + key);
    if (!text) return tl::unexpected(text.error());
    out.fields.emplace(key, std::move(*text));
  }
  return out;
}

ordered_json write(const spec& s) {
  ordered_json j;
  j["type"] = s.type;
  for (const auto& [key, text] : s.fields) {
    const bool wanted = std::find(numeric.begin(), numeric.end(), key) != numeric.end();
    const bool digits = !text.empty() && text.size() < 15
                        && std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c); })
                        && (text == "0" || text.front() != '0');
    if (wanted && digits)
      j[key] = std::stoll(text);
    else if (text == "true" || text == "false")
      j[key] = text == "true";
    else
      j[key] = text;
  }
  if (s.type == "and" || s.type == "or") {
    j["triggers"] = ordered_json::array();
    for (const auto& c : s.children)
      j["triggers"].push_back(write(c));
  }
  if (s.type == "except" && !s.children.empty()) {
    j["trigger"] = write(s.children.front());
    j["except"] = ordered_json::array();
    for (const auto& d : s.dates)
      j["except"].push_back(d);
    for (std::size_t i = 1; i < s.children.size(); ++i)
      j["except"].push_back(write(s.children[i]));
  }
  return j;
}

} // namespace

result<spec> parse_json(std::string_view text) {
  json j;
  try {
    j = json::parse(text);
  } catch (const json::parse_error& e) {
    return fail_at("trigger", e.byte, "this is not JSON");
  } catch (const json::exception&) { // a number no double can hold
    return fail_field("trigger", "a number is out of range");
  }
  return read(j, "", 0);
}

std::string to_json(const spec& s) {
  return write(s).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace lycosa::trigger
