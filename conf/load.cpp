#include "conf/load.hpp"

#include "conf/assign.hpp"
#include "conf/cluster_keys.hpp"
#include "conf/keys.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

extern "C" char** environ;

namespace lycosa::conf {

namespace {

constexpr std::string_view usual_files[] = {"conf/lycosa.toml", "/etc/lycosa/lycosa.toml"};

bool known_section(std::string_view name) {
  return std::ranges::any_of(all_sections(), [&](const auto& s) { return s.name == name; });
}

class loader {
public:
  explicit loader(const load_request& request) : request_(request) {}

  tl::expected<loaded, std::vector<problem>> run() {
    read_file();
    read_environment();
    read_sets();
    judge();
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    return std::move(out_);
  }

private:
  void complain(std::string where, std::string key, std::string reason) {
    problems_.push_back({std::move(where), std::move(key), std::move(reason)});
  }

  static std::string unknown(std::string_view path) {
    auto near = nearest_key(path);
    return near.empty() ? "unknown key" : "unknown key; did you mean " + near + "?";
  }

  /// One value of one layer. `raw` is its text where the layer is made of texts: a key that holds
  /// a text takes `5` or `true` as such.
  void set(const std::string& path, const toml::node& value, const std::string& where,
           const std::string* raw = nullptr) {
    if (path.starts_with("caf.")) return set_caf(path, value, where);
    const auto* key = find_key(path);
    if (!key) return complain(where, path, unknown(path));
    auto ok = [&] {
      if (raw && !value.is_string() && std::holds_alternative<std::string*>(key->get(out_.values)))
        return assign(out_.values, *key, toml::value<std::string>{*raw});
      return assign(out_.values, *key, value);
    }();
    if (!ok) return complain(where, path, ok.error().why);
    out_.sources[path] = where;
  }

  void set_caf(const std::string& path, const toml::node& value, const std::string& where) {
    if (const auto* table = value.as_table()) {
      for (const auto& [name, item] : *table)
        set_caf(path + "." + std::string{name.str()}, item, line_of(item, where));
      return;
    }
    auto read = to_caf_value(value);
    if (!read) return complain(where, path, read.error().why);
    out_.values.caf[path.substr(4)] = std::move(*read);
    out_.sources[path] = where;
  }

  std::string line_of(const toml::node& node, const std::string& otherwise) const {
    auto line = node.source().begin.line;
    if (out_.file.empty() || line == 0 || !in_file_) return otherwise;
    return out_.file + ":" + std::to_string(line);
  }

  void read_file() {
    if (request_.file) {
      out_.file = *request_.file;
    } else if (request_.search) {
      for (auto candidate : usual_files)
        if (std::error_code ec; std::filesystem::exists(candidate, ec)) {
          out_.file = candidate;
          break;
        }
    }
    if (out_.file.empty()) return;

    std::error_code ec;
    if (std::filesystem::is_directory(out_.file, ec))
      return complain(out_.file, "", "is a directory");
    std::ifstream in(out_.file, std::ios::binary);
    if (!in) return complain(out_.file, "", std::strerror(errno));
    std::string text{std::istreambuf_iterator<char>{in}, {}};

    auto table = std::make_unique<toml::table>();
    try {
      *table = toml::parse(text);
    } catch (const toml::parse_error& e) {
      return complain(out_.file + ":" + std::to_string(e.source().begin.line), "",
                      std::string{e.description()});
    }
    in_file_ = true;
    // Tables are ordered by name; problems are wanted in the order of the file.
    std::vector<std::pair<std::string, const toml::node*>> values;
    for (const auto& [section, node] : *table)
      collect(std::string{section.str()}, node, values);
    std::ranges::stable_sort(values, {},
                             [](const auto& v) { return v.second->source().begin.line; });
    for (const auto& [path, node] : values)
      set(path, *node, line_of(*node, out_.file));
    in_file_ = false;
  }

  void collect(const std::string& section, const toml::node& node,
               std::vector<std::pair<std::string, const toml::node*>>& values) {
    const auto* table = node.as_table();
    if (!table || !known_section(section)) {
      auto reason = table ? "unknown section" : "stands outside of any section";
      auto near = nearest_key(section);
      return complain(line_of(node, out_.file), section,
                      near.empty() ? reason : std::string{reason} + "; did you mean " + near + "?");
    }
    for (const auto& [name, value] : *table)
      values.emplace_back(section + "." + std::string{name.str()}, &value);
  }

  void read_environment() {
    for (const auto& [name, value] : request_.environment) {
      constexpr std::string_view prefix = "LYCOSA_";
      auto split = name.find("__");
      if (!name.starts_with(prefix) || split == std::string::npos) continue;
      auto path = name.substr(prefix.size());
      std::ranges::transform(path, path.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      for (auto at = path.find("__"); at != std::string::npos; at = path.find("__"))
        path.replace(at, 2, ".");
      // CAF spells its names with dashes, which a variable's name cannot have.
      if (path.starts_with("caf.")) std::ranges::replace(path, '_', '-');
      set_text(path, value, name);
    }
  }

  void read_sets() {
    for (const auto& text : request_.sets) {
      auto equals = text.find('=');
      auto path = text.substr(0, equals);
      while (!path.empty() && path.back() == ' ')
        path.pop_back();
      if (equals == std::string::npos || path.find('.') == std::string::npos) {
        complain("--set", text, "is not of the form section.key=value");
        continue;
      }
      set_text(path, text.substr(equals + 1), "--set");
    }
  }

  /// A value given as text: TOML if it reads as one value, else the text itself.
  void set_text(const std::string& path, const std::string& text, const std::string& where) {
    try {
      auto table = toml::parse("value = " + text + "\n");
      if (table.size() == 1)
        if (const auto* value = table.get("value")) return set(path, *value, where, &text);
    } catch (const toml::parse_error&) {
      // Not TOML: a plain text.
    }
    set(path, toml::value<std::string>{text}, where);
  }

  /// What can only be told when all layers are in.
  void judge() {
    settings defaults;
    for (const auto& key : all_keys()) {
      auto path = key.path();
      auto source = out_.sources.find(path);
      if (source == out_.sources.end() || key.takes == effect::at_start) continue;
      if (same(key, defaults)) continue;
      if (key.takes == effect::refused)
        complain(source->second, path, "cannot be used in this version; leave it empty");
      else
        out_.warnings.push_back({source->second, path, "has no effect in this version"});
    }
    for (const auto& [name, value] : out_.values.caf) {
      auto path = "caf." + name;
      out_.warnings.push_back({out_.source_of(path), path, "has no effect in this version"});
    }
    const auto& http = out_.values.http;
    if (http.tls_cert.empty() != http.tls_key.empty()) {
      std::string given = http.tls_cert.empty() ? "http.tls_key" : "http.tls_cert";
      std::string lacking = http.tls_cert.empty() ? "http.tls_cert" : "http.tls_key";
      complain(out_.source_of(given), given, "needs " + lacking + " too");
    }
    check_cluster(out_.values, [this](const std::string& path, const std::string& reason) {
      complain(out_.source_of(path), path, reason);
    });
    if (out_.values.limits.task.count > out_.values.http.max_body.count)
      complain(
          out_.source_of(out_.sources.contains("limits.task") ? "limits.task" : "http.max_body"),
          "limits.task", "is larger than http.max_body, so no such task could arrive");
  }

  bool same(const key_info& key, settings& defaults) {
    return std::visit(
        [](auto* a, auto* b) {
          if constexpr (std::is_same_v<decltype(a),
                                       decltype(b)> && !std::is_same_v<decltype(a), retry_policy*>)
            return *a == *b;
          else
            return false;
        },
        key.get(out_.values), key.get(defaults));
  }

  const load_request& request_;
  loaded out_;
  std::vector<problem> problems_;
  bool in_file_ = false;
};

} // namespace

std::string problem::text() const {
  std::string out = where;
  if (!key.empty()) out += ": " + key;
  return out + ": " + reason;
}

std::string loaded::source_of(std::string_view path) const {
  auto found = sources.find(path);
  return found == sources.end() ? "default" : found->second;
}

tl::expected<loaded, std::vector<problem>> load(const load_request& request) {
  return loader{request}.run();
}

std::vector<std::pair<std::string, std::string>> process_environment() {
  std::vector<std::pair<std::string, std::string>> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals != std::string_view::npos)
      out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(out);
  return out;
}

} // namespace lycosa::conf
