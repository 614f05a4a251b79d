#include "core/triggers/compile.hpp"
#include "core/triggers/json.hpp"
#include "core/triggers/oncalendar.hpp"
#include "core/triggers/text.hpp"

#include <algorithm>
#include <array>

namespace lycosa::trigger {
namespace {

using namespace detail;

constexpr std::string_view oncalendar_prefix = "oncalendar:";

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() > word.size() && lower(text.substr(0, word.size())) == word
         && is_blank(text[word.size()]);
}

std::string seconds_text(usec d) {
  std::string out = std::to_string(d.count() / 1'000'000);
  if (const auto rest = d.count() % 1'000'000; rest != 0) {
    std::string digits = std::to_string(1'000'000 + rest).substr(1);
    while (digits.back() == '0')
      digits.pop_back();
    out += "." + digits;
  }
  return out;
}

/// An interval in its largest single unit.
void set_length(spec& s, usec length) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units{
      {{"weeks", 604800000000},
       {"days", 86400000000},
       {"hours", 3600000000},
       {"minutes", 60000000}}};
  for (const auto* name :
       {"weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds"})
    s.fields.erase(name);
  for (const auto& [name, us] : units)
    if (length.count() % us == 0) {
      s.fields.emplace(name, std::to_string(length.count() / us));
      return;
    }
  s.fields.emplace("seconds", seconds_text(length));
}

/// Lower case, single blanks, none around commas. Quartz's letters look as in its own manual.
std::string tidy_field(std::string_view text, dialect d) {
  std::string out;
  for (char c : trim(text)) {
    c = lower(c);
    if (d == dialect::quartz && (c == 'l' || c == 'w' || out.find_first_of("LW") == 0))
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (is_blank(c)) {
      if (!out.empty() && out.back() != ' ' && out.back() != ',') out += ' ';
      continue;
    }
    if (c == ',' && !out.empty() && out.back() == ' ')
      out.back() = ',';
    else
      out += c;
  }
  return out;
}

void drop_if(spec& s, std::string_view key, std::string_view value) {
  const auto i = s.fields.find(key);
  if (i != s.fields.end() && i->second == value) s.fields.erase(i);
}

void tidy_crontab(spec& s) {
  const auto d_text = s.fields.find("dialect");
  const auto d = d_text == s.fields.end() ? dialect::vixie
                                          : parse_dialect(d_text->second).value_or(dialect::vixie);
  const std::string expr = s.fields["expr"];
  const auto parts = split_crontab(expr, d);
  if (!parts) return;
  if (!parts->zone.empty()) {
    s.fields["timezone"] = parts->zone;
    s.fields.erase("dst"); // the clock-jump rules do not hold for a zone of its own
  }
  std::string joined = parts->at_start ? "@reboot" : "";
  for (const auto& p : parts->fields)
    joined += (joined.empty() ? "" : " ") + tidy_field(p.text, d);
  s.fields["expr"] = joined;
  drop_if(s, "dialect", "vixie");
  drop_if(s, "dst", "wall");
}

void tidy_cron(spec& s) {
  const auto text = s.fields.find("dialect");
  const auto d =
      text == s.fields.end() ? dialect::aps3 : parse_dialect(text->second).value_or(dialect::aps3);
  for (const auto name : cron_field_names)
    if (const auto i = s.fields.find(name); i != s.fields.end())
      i->second = tidy_field(i->second, d);
  drop_if(s, "dialect", "aps3");
  drop_if(s, "dst", "wall");
}

} // namespace

result<spec> parse_spec_text(std::string_view text) {
  const std::string_view body = trim(text);
  if (body.empty()) return fail_at("trigger", 1, "the trigger is empty");
  const std::size_t lead = static_cast<std::size_t>(body.data() - text.data());
  if (body.front() == '{') return parse_json(text);
  spec s;
  if (lower(body.substr(0, oncalendar_prefix.size())) == oncalendar_prefix) {
    s.type = "oncalendar";
    s.fields["expr"] = trim(body.substr(oncalendar_prefix.size()));
    return s;
  }
  for (const std::string_view word : {"every", "@every"}) {
    if (!starts_with_word(body, word)) continue;
    const auto length = parse_duration(body.substr(word.size()), "every", lead + word.size() + 1);
    if (!length) return tl::unexpected(length.error());
    if (length->count() == 0)
      return fail_at("every", lead + word.size() + 2, "the interval must be longer than nothing");
    s.type = "interval";
    set_length(s, *length);
    return s;
  }
  if (starts_with_word(body, "@at")) {
    s.type = "date";
    s.fields["run_date"] = trim(body.substr(3));
    return s;
  }
  s.type = "crontab";
  // Columns in errors are those of the text given, so blanks in front are kept.
  s.fields["expr"] = std::string(lead, ' ') + std::string(body);
  return s;
}

result<spec> canonical(const spec& given) {
  // What refers to "when it was added" is left as it is; any moment serves for the check.
  compile_options check;
  check.anchor = wall_time{};
  if (const auto t = compile(given, check); !t) return tl::unexpected(t.error());
  spec s = given;
  if (s.type == "interval") {
    const auto length = interval_length(spec_reader(given, check, ""));
    if (!length) return tl::unexpected(length.error());
    set_length(s, *length);
    drop_if(s, "wall_clock", "false");
  }
  if (s.type == "crontab") tidy_crontab(s);
  if (s.type == "cron") tidy_cron(s);
  if (s.type == "oncalendar") {
    const auto o = parse_oncalendar(s.fields["expr"]);
    if (!o) return tl::unexpected(o.error());
    s.fields["expr"] = o->normalized;
  }
  if (s.type == "calendar_interval")
    for (const auto* name : {"years", "months", "weeks", "days", "hour", "minute", "second"})
      drop_if(s, name, "0");
  const bool once = s.type == "calendar_interval" || s.type == "oncalendar" || s.type == "interval";
  drop_if(s, "fold", once ? "first" : "both");
  drop_if(s, "gap", "skip");
  drop_if(s, "jitter", "0");
  drop_if(s, "threshold", "0");
  drop_if(s, "timezone", "");
  s.fields.erase("description");
  for (auto& c : s.children) {
    auto tidy = canonical(c);
    if (!tidy) return tidy;
    c = std::move(*tidy);
  }
  return s;
}

std::string to_text(const spec& s) {
  if (s.fields.size() == 1) {
    const auto& [key, value] = *s.fields.begin();
    if (s.type == "crontab" && key == "expr") return value;
    if (s.type == "oncalendar" && key == "expr")
      return std::string(oncalendar_prefix) + " " + value;
    if (s.type == "interval") {
      const auto length = interval_length(spec_reader(s, {}, ""));
      if (length) return "every " + duration_text(*length);
    }
  }
  return to_json(s);
}

} // namespace lycosa::trigger
