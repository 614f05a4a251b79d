#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::gateway {

/// Prometheus' text format 0.0.4, read by the letter and with the rules for names that `promtool
/// check metrics` has: whatever is out of the ordinary is in `errors`.
class exposition {
public:
  using labels = std::map<std::string, std::string>;
  struct family {
    std::string type, help;
    std::vector<std::pair<labels, double>> samples; ///< of a histogram: its `_count`
  };

  explicit exposition(std::string_view text) {
    if (!text.ends_with('\n')) complain("the last line has no end");
    while (!text.empty()) {
      const auto end = text.find('\n');
      line_ = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      read_line();
    }
    for (const auto& [name, f] : families)
      check(name, f);
    for (const auto& [name, parts] : histograms_)
      for (const auto& [series, h] : parts) {
        check(name, h);
        if (!same_bounds(h, parts.begin()->second)) complain("buckets differ between series");
      }
  }

  [[nodiscard]] std::optional<double> value(const std::string& name, const labels& of = {}) const {
    const auto f = families.find(name);
    if (f == families.end()) return std::nullopt;
    for (const auto& [have, v] : f->second.samples)
      if (have == of) return v;
    return std::nullopt;
  }

  std::map<std::string, family> families;
  std::vector<std::string> errors;

private:
  struct histogram {
    std::vector<std::pair<double, double>> buckets; ///< bound → count, in order of appearance
    std::optional<double> sum, count;
  };

  void complain(std::string_view why) {
    errors.push_back(std::string{why} + ": " + std::string{line_});
  }

  static bool is_name(std::string_view s, bool colon) {
    if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
    for (const char c : s)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
            || (colon && c == ':')))
        return false;
    return true;
  }

  void read_line() {
    if (line_.empty()) return complain("an empty line");
    if (line_.starts_with("# HELP ")) return read_comment(true);
    if (line_.starts_with("# TYPE ")) return read_comment(false);
    if (line_.starts_with('#')) return complain("a comment that is neither HELP nor TYPE");
    read_sample();
  }

  void read_comment(bool help) {
    auto rest = line_.substr(7);
    const auto space = rest.find(' ');
    if (space == std::string_view::npos) return complain("no text behind the name");
    const std::string name{rest.substr(0, space)};
    const std::string text{rest.substr(space + 1)};
    if (!is_name(name, true)) return complain("not a name");
    auto& f = families[name];
    if (!f.samples.empty() || histograms_.contains(name)) complain("behind its samples");
    if (name != current_ && !(f.help.empty() && f.type.empty())) complain("a family in two places");
    if (text.empty() || text.find('\\') != std::string::npos) complain("text");
    auto& slot = help ? f.help : f.type;
    if (!slot.empty()) complain("twice");
    if (!help && text != "counter" && text != "gauge" && text != "histogram") complain("type");
    if (!help && text == "counter" && !name.ends_with("_total")) complain("a counter is a _total");
    slot = text;
    current_ = name;
  }

  void read_sample() {
    std::size_t at = line_.find_first_of("{ ");
    if (at == std::string_view::npos) return complain("no value");
    const std::string name{line_.substr(0, at)};
    if (!is_name(name, true)) complain("not a name");
    labels of;
    if (line_[at] == '{') {
      ++at;
      while (at < line_.size() && line_[at] != '}') {
        const auto equals = line_.find("=\"", at);
        if (equals == std::string_view::npos) return complain("label");
        const std::string key{line_.substr(at, equals - at)};
        if (!is_name(key, false) || key.starts_with("__")) complain("label's name");
        std::string text;
        at = equals + 2;
        while (at < line_.size() && line_[at] != '"') {
          if (line_[at] == '\\') {
            if (++at >= line_.size()) return complain("escape");
            if (line_[at] == 'n')
              text += '\n';
            else if (line_[at] == '\\' || line_[at] == '"')
              text += line_[at];
            else
              complain("escape");
          } else {
            text += line_[at];
          }
          ++at;
        }
        ++at;
        if (!of.emplace(key, text).second) complain("a label twice");
        if (at < line_.size() && line_[at] == ',')
          ++at;
        else if (at >= line_.size() || line_[at] != '}')
          return complain("no comma between labels");
      }
      if (of.empty()) complain("braces around nothing");
      ++at;
    }
    if (at >= line_.size() || line_[at] != ' ') return complain("no value");
    const std::string number{line_.substr(at + 1)};
    char* end = nullptr;
    const double v = number == "+Inf" ? std::numeric_limits<double>::infinity()
                                      : std::strtod(number.c_str(), &end);
    if (end != nullptr && (*end != 0 || number.empty())) complain("not a number");
    if (std::isnan(v)) complain("not a number");
    if (!seen_.emplace(name, of).second) complain("the same series twice");
    take(name, std::move(of), v);
  }

  void take(const std::string& name, labels of, double v) {
    for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
      if (!name.ends_with(suffix)) continue;
      const auto base = name.substr(0, name.size() - suffix.size());
      const auto f = families.find(base);
      if (f == families.end() || f->second.type != "histogram") continue;
      if (base != current_) complain("not behind its family's TYPE");
      if (suffix == "_bucket") {
        const auto le = of.extract("le");
        if (le.empty()) return complain("a bucket without le");
        histograms_[base][of].buckets.emplace_back(le.mapped() == "+Inf"
                                                       ? std::numeric_limits<double>::infinity()
                                                       : std::strtod(le.mapped().c_str(), nullptr),
                                                   v);
      } else if (suffix == "_sum") {
        histograms_[base][of].sum = v;
      } else {
        histograms_[base][of].count = v;
        f->second.samples.emplace_back(std::move(of), v);
      }
      return;
    }
    const auto f = families.find(name);
    if (f == families.end() || f->second.type.empty() || f->second.help.empty())
      return complain("no HELP and TYPE before it");
    if (name != current_) complain("not behind its family's TYPE");
    if (f->second.type == "histogram") complain("a histogram has only buckets, sum and count");
    if (f->second.type == "counter" && !(v >= 0)) complain("a counter below 0");
    if (of.contains("le") || of.contains("quantile")) complain("a label that has a meaning");
    f->second.samples.emplace_back(std::move(of), v);
  }

  static bool same_bounds(const histogram& a, const histogram& b) {
    if (a.buckets.size() != b.buckets.size()) return false;
    for (std::size_t i = 0; i < a.buckets.size(); ++i)
      if (a.buckets[i].first != b.buckets[i].first) return false;
    return true;
  }

  /// Names say the unit, a base unit, and what belongs to one type is used for no other.
  void check(const std::string& name, const family& f) {
    line_ = name;
    if (f.help.empty() || f.type.empty()) complain("no HELP or no TYPE");
    if (f.type != "counter" && name.ends_with("_total")) complain("only a counter is a _total");
    for (const std::string end : {"_bucket", "_sum", "_count", "_info_total"})
      if (name.ends_with(end)) complain("an ending that is reserved");
    for (const std::string unit :
         {"_milliseconds", "_ms", "_microseconds", "_us", "_minutes", "_kilobytes", "_kb",
          "_megabytes", "_mb", "_percent", "_gauge", "_counter", "_histogram"})
      if (name.ends_with(unit) || name.find(unit + "_") != std::string::npos)
        complain("not a base unit, or the type in the name");
    std::set<std::string> keys;
    for (const auto& [of, v] : f.samples) {
      std::set<std::string> have;
      for (const auto& [key, text] : of)
        have.insert(key);
      if (keys.empty()) keys = have;
      if (keys != have) complain("series with different labels");
    }
  }

  void check(const std::string& name, const histogram& h) {
    line_ = name;
    if (h.buckets.empty() || (h.sum && std::isinf(*h.sum))) complain("buckets or sum");
    if (!h.sum || !h.count) complain("a histogram without sum or count");
    double bound = -std::numeric_limits<double>::infinity();
    double count = 0;
    for (const auto& [le, n] : h.buckets) {
      if (le <= bound) complain("buckets are not in order");
      if (n < count) complain("buckets are not cumulative");
      if (n != std::floor(n)) complain("a bucket counts whole");
      bound = le;
      count = n;
    }
    if (!std::isinf(bound)) complain("no bucket +Inf");
    if (h.count && *h.count != count) complain("the count is not that of +Inf");
  }

  std::string_view line_;
  std::string current_;
  std::set<std::pair<std::string, labels>> seen_;
  std::map<std::string, std::map<labels, histogram>> histograms_;
};

} // namespace lycosa::gateway
