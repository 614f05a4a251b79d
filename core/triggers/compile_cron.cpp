#include "core/triggers/compile.hpp"
#include "core/triggers/text.hpp"

#include <algorithm>
#include <array>

namespace lycosa::trigger {
namespace {

using namespace detail;

struct alias {
  std::string_view name, fields;
};
constexpr std::array<alias, 7> aliases{{{"@yearly", "0 0 1 1 *"},
                                        {"@annually", "0 0 1 1 *"},
                                        {"@monthly", "0 0 1 * *"},
                                        {"@weekly", "0 0 * * 0"},
                                        {"@daily", "0 0 * * *"},
                                        {"@midnight", "0 0 * * *"},
                                        {"@hourly", "0 * * * *"}}};

result<dialect> read_dialect(const spec_reader& in, dialect fallback) {
  const auto* text = in.find("dialect");
  if (!text) return fallback;
  const auto d = parse_dialect(*text);
  if (!d) return in.at(d.error());
  return d;
}

result<bool> read_cronie(const spec_reader& in, dialect d) {
  const auto* dst = in.find("dst");
  if (!dst || *dst == "wall") return false;
  if (*dst != "cronie") return in.bad("dst", "expected wall or cronie, not '" + *dst + "'");
  if (d != dialect::vixie) return in.bad("dst", "cronie goes with the dialect vixie only");
  return true;
}

/// The values of fields nobody gave: those more significant than the least given one are free,
/// those below take their lowest value.
void set_lowest(calendar_pattern& p, cron_field f) {
  switch (f) {
  case cron_field::year:
  case cron_field::week:
  case cron_field::day_of_week:
    break;
  case cron_field::month:
    p.months = 1u << 1;
    break;
  case cron_field::day:
    p.days = 1u << 1;
    break;
  case cron_field::hour:
    p.hours = 1;
    break;
  case cron_field::minute:
    p.minutes = 1;
    break;
  case cron_field::second:
    p.seconds = 1;
    break;
  }
}

/// crontab(5): a date matches by day or by weekday when both are restricted.
void join_days(calendar_pattern& p, dialect d, std::string_view day, std::string_view weekday) {
  p.either_day =
      d == dialect::vixie && !starts_with_star(trim(day)) && !starts_with_star(trim(weekday));
}

/// Quartz has no rule for both day fields at once.
bool both_days(dialect d, std::string_view day, std::string_view weekday) {
  const auto given = [](std::string_view t) { return t != "?" && t != "*"; };
  return d == dialect::quartz && given(trim(day)) && given(trim(weekday));
}

} // namespace

std::string_view crontab_alias(std::string_view name) {
  const std::string wanted = lower(name);
  for (const auto& a : aliases)
    if (a.name == wanted) return a.fields;
  return {};
}

namespace detail {

result<node> compile_cron(const spec_reader& in, node n) {
  const auto d = read_dialect(in, dialect::aps3);
  if (!d) return tl::unexpected(d.error());
  const auto cronie = read_cronie(in, *d);
  if (!cronie) return tl::unexpected(cronie.error());
  calendar_pattern p;
  if (*d == dialect::quartz) p.year_limit = 2099;
  int least = -1;
  for (std::size_t i = 0; i < cron_field_names.size(); ++i)
    if (in.find(cron_field_names[i])) least = static_cast<int>(i);
  // APScheduler 4 fills up from an empty start; 3 and the others fire every second.
  if (least < 0 && *d != dialect::aps4) least = static_cast<int>(cron_field_names.size());
  for (std::size_t i = 0; i < cron_field_names.size(); ++i) {
    const auto f = static_cast<cron_field>(i);
    if (const auto* text = in.find(cron_field_names[i])) {
      const auto r = parse_cron_field(f, *text, *d, in.options().seed, 1, p);
      if (!r) return in.at(r.error());
    } else if (static_cast<int>(i) > least) {
      set_lowest(p, f);
    }
  }
  const auto text_or_star = [&](std::string_view name) {
    const auto* text = in.find(name);
    return text ? std::string_view(*text) : std::string_view("*");
  };
  const auto day = text_or_star("day"), weekday = text_or_star("day_of_week");
  if (both_days(*d, day, weekday))
    return in.bad("day_of_week", "column 1: one of day and day_of_week must be '?'");
  join_days(p, *d, day, weekday);
  n.policy.cronie = *cronie;
  n.policy.wildcard =
      *cronie
      && (starts_with_star(text_or_star("minute")) || starts_with_star(text_or_star("hour")));
  p.finish();
  n.rule = std::move(p);
  return n;
}

result<crontab_parts> split_crontab(std::string_view expr, dialect d) {
  crontab_parts out;
  std::size_t pos = 0;
  const auto skip = [&] {
    while (pos < expr.size() && is_blank(expr[pos]))
      ++pos;
  };
  const auto word = [&] {
    const std::size_t start = pos;
    while (pos < expr.size() && !is_blank(expr[pos]))
      ++pos;
    return expr.substr(start, pos - start);
  };
  skip();
  for (const std::string_view prefix : {"CRON_TZ=", "TZ="}) {
    if (expr.compare(pos, prefix.size(), prefix) != 0) continue;
    const std::size_t at = pos + prefix.size();
    std::string_view name = word().substr(prefix.size());
    if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'')
        && name.back() == name.front())
      name = name.substr(1, name.size() - 2);
    if (!zone::find(name))
      return fail_at("expr", at + 1, "unknown time zone '" + std::string(name) + "'");
    out.zone = name;
    skip();
    break;
  }
  if (pos < expr.size() && expr[pos] == '@') {
    const std::size_t at = pos;
    const auto name = word();
    skip();
    if (pos != expr.size()) return fail_at("expr", pos + 1, "nothing may follow here");
    if (lower(name) == "@reboot") {
      out.at_start = true;
      return out;
    }
    expr = crontab_alias(name);
    if (expr.empty())
      return fail_at("expr", at + 1,
                     "unknown name '" + std::string(name)
                         + "'; expected @yearly, @monthly, @weekly, @daily, @hourly or @reboot");
    pos = 0;
  }
  using f = cron_field;
  static constexpr std::array<f, 7> order{f::second, f::minute,      f::hour, f::day,
                                          f::month,  f::day_of_week, f::year};
  const bool quartz = d == dialect::quartz;
  std::vector<std::pair<std::string_view, std::size_t>> words;
  for (skip(); pos < expr.size(); skip()) {
    const std::size_t at = pos;
    words.emplace_back(word(), at + 1);
  }
  const bool fits = quartz ? words.size() == 6 || words.size() == 7 : words.size() == 5;
  if (!fits)
    return fail_at("expr", words.size() > 5 && !quartz ? words[5].second : expr.size() + 1,
                   "wrong number of fields; got " + std::to_string(words.size()) + ", expected "
                       + (quartz ? "6 or 7" : "5"));
  for (std::size_t i = 0; i < words.size(); ++i)
    out.fields.push_back({order[i + (quartz ? 0 : 1)], words[i].first, words[i].second});
  return out;
}

result<node> compile_crontab(const spec_reader& in, node n) {
  const auto* expr = in.find("expr");
  if (!expr) return in.bad("expr", "the expression is missing");
  const auto d = read_dialect(in, dialect::vixie);
  if (!d) return tl::unexpected(d.error());
  const auto cronie = read_cronie(in, *d);
  if (!cronie) return tl::unexpected(cronie.error());
  const auto parts = split_crontab(*expr, *d);
  if (!parts) return in.at(parts.error());
  if (!parts->zone.empty()) n.tz = zone::find(parts->zone).value_or(n.tz);
  if (parts->at_start) {
    n.rule = start_rule{true};
    return n;
  }
  calendar_pattern p;
  if (*d == dialect::quartz)
    p.year_limit = 2099;
  else
    p.seconds = 1;
  std::string_view day, weekday;
  bool wildcard = false;
  for (const auto& part : parts->fields) {
    const auto r = parse_cron_field(part.field, part.text, *d, in.options().seed, part.column, p);
    if (!r) return in.at(r.error());
    if (part.field == cron_field::day) day = part.text;
    if (part.field == cron_field::day_of_week) weekday = part.text;
    if (part.field == cron_field::minute || part.field == cron_field::hour)
      wildcard = wildcard || starts_with_star(part.text);
  }
  if (both_days(*d, day, weekday))
    return in.bad("day_of_week", "one of day and day_of_week must be '?'");
  join_days(p, *d, day, weekday);
  // The daemon itself leaves jobs with a zone of their own out of its clock-jump rules.
  n.policy.cronie = *cronie && parts->zone.empty();
  n.policy.wildcard = n.policy.cronie && wildcard;
  p.finish();
  n.rule = std::move(p);
  return n;
}

} // namespace detail
} // namespace lycosa::trigger
