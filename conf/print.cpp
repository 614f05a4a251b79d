#include "conf/print.hpp"

#include "conf/keys.hpp"
#include "conf/units.hpp"

#include <toml++/toml.h>

#include <sstream>
#include <string_view>
#include <variant>

namespace lycosa::conf {

namespace {

constexpr std::size_t width = 96;

std::string quote(std::string_view text) {
  std::ostringstream out;
  // Literal strings ('…') are off: one kind of quote is easier to edit.
  auto flags = toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings
               & ~toml::format_flags::allow_multi_line_strings;
  toml::value<std::string> value{std::string{text}};
  out << toml::toml_formatter{value, flags};
  return out.str();
}

std::string name_text(std::string_view name) {
  auto plain = !name.empty()
               && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_-")
                      == std::string_view::npos;
  return plain ? std::string{name} : quote(name);
}

std::string value_text(const std::string& v) {
  return quote(v);
}
std::string value_text(bool v) {
  return v ? "true" : "false";
}
std::string value_text(std::uint64_t v) {
  return std::to_string(v);
}
std::string value_text(usec v) {
  return quote(format_duration(v));
}
std::string value_text(bytes v) {
  return quote(format_size(v));
}

std::string value_text(const std::vector<std::string>& v) {
  std::string out = "[";
  for (const auto& item : v)
    out += (out.size() > 1 ? ", " : "") + quote(item);
  return out + "]";
}

std::string value_text(const std::map<std::string, std::string>& v) {
  std::string out;
  for (const auto& [name, item] : v)
    out += (out.empty() ? " " : ", ") + name_text(name) + " = " + quote(item);
  return out.empty() ? "{}" : "{" + out + " }";
}

std::string value_text(const executor_map& v) {
  std::string out;
  for (const auto& [name, one] : v)
    out += (out.empty() ? " " : ", ") + name_text(name)
           + " = { concurrency = " + std::to_string(one.concurrency)
           + ", queue_limit = " + std::to_string(one.queue_limit) + " }";
  return "{" + out + " }";
}

std::string value_text(const retry_policy& v) {
  std::string out = "{ ";
  for (const auto& [retried, delay] : v.table)
    out += "\"" + std::to_string(retried) + "\" = " + value_text(delay) + ", ";
  return out + "\"\" = " + value_text(v.otherwise) + " }";
}

std::string caf_text(const caf_value& v) {
  if (const auto* text = std::get_if<std::string>(&v)) return quote(*text);
  if (const auto* flag = std::get_if<bool>(&v)) return value_text(*flag);
  if (const auto* number = std::get_if<std::int64_t>(&v)) return std::to_string(*number);
  std::ostringstream out;
  out << toml::toml_formatter{toml::value<double>{std::get<double>(v)}};
  return out.str();
}

std::string value_of(const key_info& key, settings& s) {
  return std::visit([](auto* v) { return value_text(*v); }, key.get(s));
}

/// Adds `text` as comment lines, broken at spaces.
void comment(std::string& out, std::string_view text) {
  while (!text.empty()) {
    auto cut = text.size();
    if (cut > width) {
      cut = text.rfind(' ', width);
      if (cut == std::string_view::npos || cut == 0) cut = text.size();
    }
    out += "# " + std::string{text.substr(0, cut)} + "\n";
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
}

std::string facts(const key_info& key, settings& defaults) {
  std::string out{type_name(key)};
  if (!key.unit.empty()) out += " of " + std::string{key.unit};
  if (auto range = range_text(key); !range.empty()) out += ", " + range;
  out += "; default " + value_of(key, defaults);
  if (key.takes == effect::reserved) out += ". Reserved: no effect in this version.";
  if (key.takes == effect::refused)
    out += ". Reserved: must stay empty in this version, anything else is an error.";
  return out;
}

} // namespace

std::string print(const loaded& config, print_options options) {
  settings defaults;
  auto values = config.values;
  std::string out;
  for (const auto& section : all_sections()) {
    if (!out.empty()) out += "\n";
    comment(out, section.meaning);
    out += "[" + std::string{section.name} + "]\n";
    for (const auto& key : all_keys()) {
      if (key.section != section.name) continue;
      out += "\n";
      comment(out, key.meaning);
      comment(out, facts(key, defaults));
      if (auto from = config.source_of(key.path()); options.sources && from != "default")
        comment(out, "Set by " + from + ".");
      out += std::string{key.name} + " = " + value_of(key, values) + "\n";
    }
    if (section.name == "caf")
      for (const auto& [name, value] : config.values.caf) {
        // A quoted name would be one key with dots in it; that reads back the same.
        if (options.sources) comment(out, "Set by " + config.source_of("caf." + name) + ".");
        out += name_text(name) + " = " + caf_text(value) + "\n";
      }
  }
  return out;
}

std::string reference() {
  std::string out;
  comment(out, "Every key of Lycosa's configuration, with its default. Written by the program "
               "itself (`lycosa config print --reference`); edit conf/keys.cpp, not this file.");
  out += "#\n";
  comment(out, "A file holds any part of it. Later layers beat earlier ones: defaults, this file, "
               "environment variables LYCOSA_SECTION__KEY, --set section.key=value. All keys are "
               "read when a node starts.");
  out += "#\n";
  comment(out, "Durations are texts such as \"250ms\", \"5s\", \"10m\", \"24h\", \"7d\", or a "
               "number of seconds. Sizes are texts such as \"100B\", \"64KiB\", \"64MiB\", "
               "\"1GiB\", or a number of bytes.");
  out += "\n";
  return out + print(loaded{});
}

} // namespace lycosa::conf
