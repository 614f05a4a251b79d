#include "cli/job_toml.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace lycosa::cli {

namespace {

constexpr std::string_view none = "none";
constexpr std::string_view json_ending = "_json";
constexpr std::array<std::string_view, 2> may_be_null{"misfire_grace_time", "timeout"};
constexpr std::array<std::string_view, 4> free_form{"task", "payload", "args", "body"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// -- reading

std::string where(const std::string& file, const toml::source_region& at) {
  return file + ":" + std::to_string(at.begin.line);
}

json to_json(const toml::node& node);

/// The members in the order they are written in; the library sorts them by name.
std::vector<std::pair<std::string, const toml::node*>> in_order(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> out;
  for (const auto& [key, value] : table)
    out.emplace_back(std::string{key.str()}, &value);
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    const auto& x = a.second->source().begin;
    const auto& y = b.second->source().begin;
    return std::pair{x.line, x.column} < std::pair{y.line, y.column};
  });
  return out;
}

json to_json(const toml::table& table) {
  auto out = json::object();
  for (const auto& [key, value] : in_order(table))
    out[key] = to_json(*value);
  return out;
}

json to_json(const toml::node& node) {
  if (const auto* t = node.as_table()) return to_json(*t);
  if (const auto* a = node.as_array()) {
    auto out = json::array();
    for (const auto& element : *a)
      out.push_back(to_json(element));
    return out;
  }
  if (const auto* s = node.as_string()) return s->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* f = node.as_floating_point()) return f->get();
  if (const auto* b = node.as_boolean()) return b->get();
  // A date or time: as ISO 8601, which is how TOML writes it.
  std::ostringstream text;
  if (const auto* d = node.as_date()) text << d->get();
  if (const auto* t = node.as_time()) text << t->get();
  if (const auto* m = node.as_date_time()) text << m->get();
  return text.str();
}

outcome<json> job_from(const toml::table& table, const std::string& file) {
  auto job = to_json(table);
  for (const auto name : may_be_null)
    if (const auto m = job.find(name); m != job.end() && *m == none) *m = nullptr;
  const auto action = job.find("action");
  if (action == job.end() || !action->is_object()) return job;
  auto members = json::object();
  for (auto& [key, value] : action->items()) {
    const auto name =
        key.ends_with(json_ending) ? key.substr(0, key.size() - json_ending.size()) : std::string{};
    if (!among(free_form, name)) {
      members[key] = std::move(value);
      continue;
    }
    const auto at = where(file, table["action"][key].node()->source());
    auto parsed = value.is_string() ? json::parse(value.get<std::string>(), nullptr, false)
                                    : json(json::value_t::discarded);
    if (parsed.is_discarded())
      return tl::unexpected(failure{bad_input, at, "action." + key + ": not a string of JSON"});
    if (action->contains(name))
      return tl::unexpected(
          failure{bad_input, at, "action." + key + ": " + name + " is there as well"});
    members[name] = std::move(parsed);
  }
  *action = std::move(members);
  return job;
}

// -- writing

/// Whether TOML can hold it.
bool fits(const json& v) {
  if (v.is_null()) return false;
  if (v.is_number_unsigned())
    return v.get<std::uint64_t>()
           <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (v.is_structured())
    return std::all_of(v.begin(), v.end(), [](const json& member) { return fits(member); });
  return true;
}

/// Without members that are null: in a trigger they mean the same as none.
json without_nulls(const json& v) {
  if (!v.is_structured()) return v;
  json out = v.is_array() ? json::array() : json::object();
  for (const auto& [key, member] : v.items()) {
    if (v.is_array())
      out.push_back(without_nulls(member));
    else if (!member.is_null())
      out[key] = without_nulls(member);
  }
  return out;
}

std::string string_text(const std::string& s) {
  // Lines stay lines where a literal can hold them: a script should be readable.
  const bool plain = std::ranges::none_of(s, [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u < 0x20 && c != '\n' && c != '\t') || u == 0x7f;
  });
  if (plain && s.find('\n') != std::string::npos && s.find("''") == std::string::npos
      && !s.ends_with('\''))
    return "'''\n" + s + "'''";
  if (plain && s.find_first_of("\n'") == std::string::npos
      && s.find_first_of("\"\\") != std::string::npos)
    return "'" + s + "'";
  std::string out = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f) {
      constexpr auto digits = "0123456789abcdef";
      out += std::string("\\u00") + digits[u >> 4] + digits[u & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
  });
  if (bare) return key;
  auto text = string_text(key);
  if (text.find('\n') == std::string::npos) return text;
  // A key has one line.
  std::string out = "\"";
  for (const char c : key)
    out += c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : std::string(1, c);
  return out + "\"";
}

std::string inline_text(const json& v) {
  if (v.is_string()) return string_text(v.get<std::string>());
  if (!v.is_structured()) return v.dump(); // TOML spells numbers and truth as JSON does
  std::string out;
  for (const auto& [key, member] : v.items())
    out += (out.empty() ? "" : ", ") + (v.is_object() ? key_text(key) + " = " : std::string{})
           + inline_text(member);
  if (v.is_array()) return "[" + out + "]";
  return out.empty() ? "{}" : "{ " + out + " }";
}

void write_table(std::string& out, const std::string& name, const json& table) {
  out += "\n  [job." + name + "]\n";
  for (const auto& [key, value] : table.items()) {
    if (fits(value))
      out += "  " + key_text(key) + " = " + inline_text(value) + "\n";
    else if (!value.is_null() && among(free_form, key))
      out += "  " + key + std::string(json_ending) + " = "
             + string_text(value.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n";
    // else: null, which in a job's tables is the same as nothing
  }
}

} // namespace

bool looks_like_toml(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const char c = text[first];
  if (c == '[') {
    const auto next = text.find_first_not_of("[ \t", first);
    return next != std::string_view::npos && text.substr(next).starts_with("job");
  }
  return c == '#' || (c >= 'a' && c <= 'z');
}

outcome<std::vector<toml_job>> jobs_from_toml(std::string_view text, const std::string& file) {
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    return tl::unexpected(
        failure{bad_input, where(file, e.source()), std::string{e.description()}});
  }
  std::vector<toml_job> out;
  const auto take = [&](const toml::table& table) -> outcome<void> {
    auto job = job_from(table, file);
    if (!job) return tl::unexpected(job.error());
    out.push_back({std::move(*job), table.source().begin.line});
    return {};
  };
  for (const auto& [key, value] : in_order(root)) {
    if (key != "job")
      return tl::unexpected(failure{bad_input, where(file, value->source()),
                                    key + ": unknown; a job is a table [[job]]"});
    const auto* list = value->as_array();
    if (const auto* single = value->as_table()) {
      if (auto ok = take(*single); !ok) return tl::unexpected(ok.error());
      continue;
    }
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* table = list->get(i)->as_table();
      if (table == nullptr) {
        list = nullptr;
        break;
      }
      if (auto ok = take(*table); !ok) return tl::unexpected(ok.error());
    }
    if (list == nullptr)
      return tl::unexpected(
          failure{bad_input, where(file, value->source()), "job: expected tables [[job]]"});
  }
  if (out.empty()) return tl::unexpected(failure{bad_input, file, "holds no job"});
  return out;
}

std::string jobs_to_toml(const json& jobs) {
  std::string out;
  for (const auto& job : jobs) {
    out += (out.empty() ? "" : "\n") + std::string{"[[job]]\n"};
    std::string tables;
    for (const auto& [key, value] : job.items()) {
      if (key == "next_run_time" || key == "finished") continue;
      if (value.is_object()) {
        if (!value.empty())
          write_table(tables, key, key == "trigger" ? without_nulls(value) : value);
      } else if (!value.is_null()) {
        out += key_text(key) + " = " + inline_text(value) + "\n";
      } else if (key == "misfire_grace_time") {
        out += key + " = " + string_text(std::string(none)) + "\n";
      }
    }
    out += tables;
  }
  return out;
}

} // namespace lycosa::cli
