#include "core/triggers/compile.hpp"

#include "core/edit_distance.hpp"
#include "core/triggers/oncalendar.hpp"
#include "core/triggers/text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace lycosa::trigger {
namespace {

using namespace detail;

struct kind_members {
  std::string_view type;
  std::string_view members; ///< beside those that all kinds have
};
/// No expression a person writes is longer, and one that is would be slow to search.
constexpr std::size_t max_text = 4096;
constexpr std::string_view common_members =
    " timezone jitter gap fold start_date end_date description ";
constexpr std::array<kind_members, 9> kinds{{
    {"date", " run_date "},
    {"interval", " weeks days hours minutes seconds milliseconds microseconds wall_clock "},
    {"cron", " year month day week day_of_week hour minute second dialect dst "},
    {"crontab", " expr dialect dst "},
    {"calendar_interval", " years months weeks days hour minute second "},
    {"oncalendar", " expr "},
    {"and", " threshold "},
    {"or", " "},
    {"except", " "},
}};

bool has_word(std::string_view words, std::string_view word) {
  return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

/// The word of a list most like a misspelt one; empty when none is near.
std::string nearest(std::string_view words, std::string_view wrong) {
  std::string best;
  std::size_t best_distance = 3;
  std::size_t pos = 0;
  while ((pos = words.find_first_not_of(' ', pos)) != std::string_view::npos) {
    const std::size_t end = std::min(words.find(' ', pos), words.size());
    const auto word = words.substr(pos, end - pos);
    if (const auto d = edit_distance(word, wrong); d < best_distance) {
      best_distance = d;
      best = word;
    }
    pos = end;
  }
  return best;
}

result<void> check_members(const spec_reader& in) {
  const auto& s = in.source();
  const auto* kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.type == s.type; });
  if (kind == kinds.end()) {
    std::string all;
    for (const auto& k : kinds)
      all += (all.empty() ? "" : ", ") + std::string(k.type);
    return in.bad("type", "unknown kind '" + s.type + "'; expected one of " + all);
  }
  for (const auto& [key, text] : s.fields) {
    if (text.size() > max_text) return in.bad(key, "longer than 4096 bytes");
    if (has_word(kind->members, key) || has_word(common_members, key)) continue;
    const std::string near = nearest(std::string(kind->members) + std::string(common_members), key);
    return in.bad(key, s.type + " has no such member"
                           + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return {};
}

result<void> read_policy(const spec_reader& in, node& n) {
  if (const auto* g = in.find("gap")) {
    if (*g == "skip")
      n.policy.gap = gap_policy::skip;
    else if (*g == "run_after")
      n.policy.gap = gap_policy::run_after;
    else if (*g == "shift")
      n.policy.gap = gap_policy::shift;
    else
      return in.bad("gap", "expected skip, run_after or shift, not '" + *g + "'");
  }
  // What is counted in dates happens once on each; so it does in systemd.
  const auto& type = in.source().type;
  const bool once = type == "calendar_interval" || type == "oncalendar" || type == "interval";
  n.policy.fold = once ? fold_policy::first : fold_policy::both;
  if (const auto* f = in.find("fold")) {
    if (*f == "both")
      n.policy.fold = fold_policy::both;
    else if (*f == "first")
      n.policy.fold = fold_policy::first;
    else if (*f == "second")
      n.policy.fold = fold_policy::second;
    else
      return in.bad("fold", "expected both, first or second, not '" + *f + "'");
  }
  return {};
}

result<void> read_common(const spec_reader& in, node& n) {
  n.tz = in.options().default_zone;
  if (const auto* name = in.find("timezone"); name && !name->empty()) {
    const auto z = zone::find(*name);
    if (!z) return in.at(z.error());
    n.tz = *z;
  }
  if (const auto r = read_policy(in, n); !r) return r;
  if (const auto* j = in.find("jitter")) {
    const auto d = parse_duration(*j, "jitter");
    if (!d) return in.at(d.error());
    n.jitter = *d;
  }
  for (const std::string_view member : {"start_date", "end_date"}) {
    const auto* text = in.find(member);
    if (!text) continue;
    const auto t = parse_time_text(*text, member);
    if (!t) return in.at(t.error());
    (member == "start_date" ? n.start : n.end) = t->in(n.tz);
  }
  return {};
}

result<node> compile_date(const spec_reader& in, node n) {
  const auto* text = in.find("run_date");
  if (!text) {
    if (!in.options().anchor) return in.bad("run_date", "the date is missing");
    n.rule = date_rule{*in.options().anchor};
    return n;
  }
  const auto t = parse_time_text(*text, "run_date");
  if (!t) return in.at(t.error());
  n.rule = date_rule{t->in(n.tz)};
  return n;
}

result<node> compile_interval(const spec_reader& in, node n) {
  const auto length = interval_length(in);
  if (!length) return tl::unexpected(length.error());
  const auto wall = in.flag("wall_clock");
  if (!wall) return tl::unexpected(wall.error());
  if (!n.has_start() && in.options().anchor) n.start = *in.options().anchor + *length;
  n.rule = interval_rule{*length, *wall};
  return n;
}

result<node> compile_oncalendar(const spec_reader& in, node n) {
  const auto* expr = in.find("expr");
  if (!expr) return in.bad("expr", "the expression is missing");
  auto parsed = parse_oncalendar(*expr);
  if (!parsed) return in.at(parsed.error());
  if (parsed->tz) n.tz = *parsed->tz;
  if (parsed->at)
    n.rule = date_rule{*parsed->at};
  else
    n.rule = std::move(parsed->pattern);
  return n;
}

result<std::vector<trigger>> compile_members(const spec_reader& in, std::string_view list,
                                             const compile_options& options, std::size_t first) {
  std::vector<trigger> out;
  const auto& all = in.source().children;
  for (std::size_t i = first; i < all.size(); ++i) {
    const std::string path = in.name(list) + "[" + std::to_string(i - first) + "]";
    auto t = compile_at(all[i], options, path);
    if (!t) return tl::unexpected(t.error());
    out.push_back(std::move(*t));
  }
  return out;
}

/// `2024-12-25`, `2024-12-24..2024-12-26`, `12-25` (every year).
result<day_range> parse_day(const spec_reader& in, std::string_view text,
                            const std::string& field) {
  day_range out;
  const auto body = trim(text);
  if (body.size() == 5 && body[2] == '-') {
    const auto t = parse_time_text("2000-" + std::string(body), field);
    if (!t) return in.bad(field, "expected a month and a day such as 12-25");
    const std::chrono::year_month_day date{t->date};
    out.month = static_cast<std::uint8_t>(static_cast<unsigned>(date.month()));
    out.day = static_cast<std::uint8_t>(static_cast<unsigned>(date.day()));
    return out;
  }
  const auto dots = body.find("..");
  const auto first = parse_time_text(body.substr(0, dots), field);
  if (!first) return in.at(first.error());
  auto last = first;
  if (dots != std::string_view::npos) last = parse_time_text(body.substr(dots + 2), field);
  if (!last) return in.at(last.error());
  if (first->has_time || last->has_time)
    return in.bad(field, "whole days are left out; give a date trigger for one moment");
  if (last->date < first->date) return in.bad(field, "the range of days runs backwards");
  out.first = first->date;
  out.last = last->date;
  return out;
}

result<node> compile_combination(const spec_reader& in, node n) {
  // The zone of the whole is that of members which name none.
  compile_options options = in.options();
  options.default_zone = n.tz;
  const auto& s = in.source();
  if (s.type == "except") {
    except_rule r;
    if (s.children.empty()) return in.bad("trigger", "the trigger to take from is missing");
    auto base = compile_at(s.children.front(), options, in.name("trigger"));
    if (!base) return tl::unexpected(base.error());
    r.base = std::move(*base);
    if (!in.find("timezone")) n.tz = r.base.timezone();
    auto times = compile_members(in, "except", options, 1);
    if (!times) return tl::unexpected(times.error());
    r.times = std::move(*times);
    for (std::size_t i = 0; i < s.dates.size(); ++i) {
      const auto d = parse_day(in, s.dates[i], "except[" + std::to_string(i) + "]");
      if (!d) return tl::unexpected(d.error());
      r.days.push_back(*d);
    }
    n.rule = std::move(r);
    return n;
  }
  if (s.children.empty()) return in.bad("triggers", "at least one trigger is needed");
  auto members = compile_members(in, "triggers", options, 0);
  if (!members) return tl::unexpected(members.error());
  if (s.type == "or") {
    n.rule = or_rule{std::move(*members)};
    return n;
  }
  and_rule r;
  r.members = std::move(*members);
  if (const auto* text = in.find("threshold")) {
    const auto d = parse_duration(*text, "threshold");
    if (!d) return in.at(d.error());
    r.threshold = *d;
  }
  find_grid(r);
  n.rule = std::move(r);
  return n;
}

} // namespace

namespace detail {

result<std::int64_t> spec_reader::whole(std::string_view member, std::int64_t low,
                                        std::int64_t high, std::int64_t fallback) const {
  const auto* text = find(member);
  if (!text) return fallback;
  const auto number = parse_seconds(*text);
  if (!number || number->count() % 1'000'000 != 0)
    return bad(member, "expected a whole number, not '" + *text + "'");
  const std::int64_t n = number->count() / 1'000'000;
  if (n < low || n > high)
    return bad(member, "expected " + std::to_string(low) + " to " + std::to_string(high) + ", not "
                           + std::to_string(n));
  return n;
}

result<bool> spec_reader::flag(std::string_view member) const {
  const auto* text = find(member);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return bad(member, "expected true or false");
}

result<usec> interval_length(const spec_reader& in) {
  struct part {
    std::string_view name;
    std::int64_t us;
  };
  static constexpr std::array<part, 7> parts{{{"weeks", 604800000000},
                                              {"days", 86400000000},
                                              {"hours", 3600000000},
                                              {"minutes", 60000000},
                                              {"seconds", 1000000},
                                              {"milliseconds", 1000},
                                              {"microseconds", 1}}};
  constexpr std::int64_t limit = 31'622'400'000'000'000; // a thousand years
  usec total{0};
  std::string_view given = "seconds";
  for (const auto& p : parts) {
    const auto* text = in.find(p.name);
    if (!text) continue;
    given = p.name;
    const auto n = parse_seconds(*text); // in millionths of the unit
    if (!n) return in.bad(p.name, "expected a number, not '" + *text + "'");
    if (std::abs(n->count()) / 1'000'000 > limit / p.us)
      return in.bad(p.name, "longer than a thousand years");
    const std::int64_t whole = n->count() / 1'000'000, rest = n->count() % 1'000'000;
    total += usec{whole * p.us + (p.us / 1'000'000) * rest + p.us % 1'000'000 * rest / 1'000'000};
  }
  if (total.count() <= 0) return in.bad(given, "the interval must be longer than nothing");
  if (total.count() > limit) return in.bad(given, "longer than a thousand years");
  return total;
}

result<node> compile_steps(const spec_reader& in, node n) {
  const auto years = in.whole("years", 0, 8000, 0);
  const auto months = in.whole("months", 0, 96000, 0);
  const auto weeks = in.whole("weeks", 0, 400000, 0);
  const auto days = in.whole("days", 0, 3000000, 0);
  const auto hour = in.whole("hour", 0, 23, 0);
  const auto minute = in.whole("minute", 0, 59, 0);
  const auto second = in.whole("second", 0, 59, 0);
  for (const auto* r : {&years, &months, &weeks, &days, &hour, &minute, &second})
    if (!*r) return tl::unexpected(r->error());
  step_rule r;
  r.months = static_cast<std::int32_t>(*years * 12 + *months);
  r.days = static_cast<std::int32_t>(*weeks * 7 + *days);
  if (r.months == 0 && r.days == 0)
    return in.bad("days", "the interval must be longer than nothing");
  r.time_of_day =
      std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
  // Start and end are dates here, the end included with all of its day.
  n.start = wall_time::min();
  n.end = wall_time::max();
  const auto date_of = [&](std::string_view member) -> result<std::chrono::local_days> {
    const auto t = parse_time_text(*in.find(member), member);
    if (!t) return in.at(t.error());
    if (!t->offset) return t->date;
    const auto at = t->in(n.tz);
    return std::chrono::floor<std::chrono::days>(n.tz.at(at).to_local(at));
  };
  if (in.find("start_date")) {
    const auto d = date_of("start_date");
    if (!d) return tl::unexpected(d.error());
    r.start = *d;
    r.has_start = true;
  } else if (in.options().anchor) {
    const auto at = *in.options().anchor;
    r.start = std::chrono::floor<std::chrono::days>(n.tz.at(at).to_local(at));
    r.has_start = true;
  }
  if (in.find("end_date")) {
    const auto d = date_of("end_date");
    if (!d) return tl::unexpected(d.error());
    r.last = *d;
    r.has_last = true;
    if (r.has_start && in.find("start_date") && r.last < r.start)
      return in.bad("end_date", "the end is before the start");
  }
  n.rule = r;
  return n;
}

result<trigger> compile_at(const spec& s, const compile_options& options, const std::string& path) {
  const spec_reader in(s, options, path);
  if (const auto r = check_members(in); !r) return tl::unexpected(r.error());
  node n;
  if (const auto r = read_common(in, n); !r) return tl::unexpected(r.error());
  auto compiled = s.type == "date"                ? compile_date(in, std::move(n))
                  : s.type == "interval"          ? compile_interval(in, std::move(n))
                  : s.type == "cron"              ? compile_cron(in, std::move(n))
                  : s.type == "crontab"           ? compile_crontab(in, std::move(n))
                  : s.type == "calendar_interval" ? compile_steps(in, std::move(n))
                  : s.type == "oncalendar"        ? compile_oncalendar(in, std::move(n))
                                                  : compile_combination(in, std::move(n));
  if (!compiled) return tl::unexpected(compiled.error());
  return trigger(std::make_shared<const node>(std::move(*compiled)));
}

} // namespace detail

result<trigger> compile(const spec& s, const compile_options& options) {
  return compile_at(s, options, "");
}

} // namespace lycosa::trigger
