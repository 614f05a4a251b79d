#include "core/triggers/compile.hpp"
#include "core/triggers/text.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <functional>

namespace lycosa::trigger {
namespace {

using namespace detail;

constexpr std::array<std::string_view, 7> weekday_names{
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 13> month_names{
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> ordinals{"",       "first", "second", "third",
                                                   "fourth", "fifth", "last"};

using naming = std::function<std::string(unsigned)>;

std::string number(unsigned n) {
  return std::to_string(n);
}

/// "a, b and c".
std::string join(const std::vector<std::string>& words, std::string_view last = "and") {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    out += words[i];
  }
  return out;
}

/// The members of a set in words, runs of three and more as "a to c".
std::string list(std::uint64_t bits, const naming& name = number) {
  std::vector<std::string> words;
  for (unsigned i = 0; i < 64; ++i) {
    if ((bits >> i & 1) == 0) continue;
    unsigned last = i;
    while (last < 63 && (bits >> (last + 1) & 1) != 0)
      ++last;
    if (last >= i + 2) {
      words.push_back(name(i) + " to " + name(last));
      i = last;
    } else {
      words.push_back(name(i));
    }
  }
  return join(words);
}

std::string two(unsigned n) {
  return (n < 10 ? "0" : "") + std::to_string(n);
}

bool single(std::uint64_t bits) {
  return std::popcount(bits) == 1;
}
unsigned lowest(std::uint64_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}

/// "every minute", "every 5 minutes", "minutes 0 and 30".
std::string unit_text(std::uint64_t bits, unsigned size, const std::string& unit) {
  const std::uint64_t all = (std::uint64_t{1} << size) - 1;
  if (bits == all) return "every " + unit;
  for (unsigned step = 2; step * 2 <= size; ++step) {
    std::uint64_t even = 0;
    for (unsigned v = 0; v < size; v += step)
      even |= std::uint64_t{1} << v;
    if (bits == even)
      return "every " + std::to_string(step) + " " + unit + "s"
             + (size % step != 0 ? " from 0" : "");
  }
  return unit + (single(bits) ? " " : "s ") + list(bits);
}

std::string time_words(const calendar_pattern& p) {
  const bool whole = p.fractions.empty();
  if (whole && single(p.seconds) && std::popcount(p.minutes) <= 2 && std::popcount(p.hours) <= 4) {
    std::vector<std::string> times;
    for (unsigned h = 0; h < 24; ++h)
      for (unsigned m = 0; m < 60; ++m)
        if ((p.hours >> h & 1) != 0 && (p.minutes >> m & 1) != 0)
          times.push_back(two(h) + ":" + two(m)
                          + (p.seconds == 1 ? "" : ":" + two(lowest(p.seconds))));
    return "at " + join(times);
  }
  std::string out = "at ";
  if (!whole)
    out += "fractions of a second in ";
  else if (p.seconds != 1)
    out += unit_text(p.seconds, 60, "second") + " of ";
  return out + unit_text(p.minutes, 60, "minute") + " of " + unit_text(p.hours, 24, "hour");
}

std::vector<std::string> nth_words(const calendar_pattern& p) {
  std::vector<std::string> parts;
  for (unsigned bit = 0; bit < 42; ++bit)
    if (p.nth_weekdays >> bit & 1)
      parts.push_back("the " + std::string(ordinals[bit / 7 + 1]) + " "
                      + std::string(weekday_names[bit % 7]));
  return parts;
}

std::string days_words(const calendar_pattern& p) {
  std::vector<std::string> parts;
  const auto from_end = [](unsigned n) {
    return n == 0 ? std::string("the last day") : std::to_string(n) + " days before the last";
  };
  if (p.days != 0) parts.push_back("day " + list(p.days));
  if (p.days_from_end != 0) parts.push_back(list(p.days_from_end, from_end));
  for (unsigned d = 1; d < 32; ++d)
    if (p.workday_near >> d & 1) parts.push_back("the weekday nearest to day " + std::to_string(d));
  for (unsigned n = 0; n < 31; ++n)
    if (p.workday_from_end >> n & 1) parts.push_back("the weekday nearest to " + from_end(n));
  if (!p.nth_is_weekday)
    for (const auto& w : nth_words(p))
      parts.push_back(w);
  return join(parts) + " of the month";
}

std::string years_words(const calendar_pattern& p) {
  std::vector<std::string> parts;
  for (const auto& r : p.years) {
    if (r.first == r.last)
      parts.push_back(std::to_string(r.first));
    else if (r.step == 1)
      parts.push_back(std::to_string(r.first) + " to " + std::to_string(r.last));
    else
      parts.push_back("every " + std::to_string(r.step) + " years from " + std::to_string(r.first)
                      + (r.last >= 2099 ? "" : " to " + std::to_string(r.last)));
  }
  return join(parts);
}

std::string calendar_words(const calendar_pattern& p) {
  std::string out = time_words(p);
  const bool any_day = p.days == calendar_pattern::all_days;
  const bool any_weekday = p.weekdays == 0x7f;
  const auto weekday = [](unsigned w) { return std::string(weekday_names[w]); };
  if (any_day && any_weekday) out += ", every day";
  if (!any_day) out += ", on " + days_words(p);
  if (!any_weekday) {
    out += any_day ? ", on " : p.either_day ? ", and also on every " : ", if it is a ";
    auto parts = p.nth_is_weekday ? nth_words(p) : std::vector<std::string>{};
    if (p.weekdays != 0) parts.insert(parts.begin(), list(p.weekdays, weekday));
    out += join(parts);
    if (p.nth_is_weekday) out += " of the month";
  }
  if (p.weeks != 0) out += ", in ISO week " + list(p.weeks);
  if (p.months != 0x1ffe)
    out += ", in " + list(p.months, [](unsigned m) { return std::string(month_names[m]); });
  if (!p.years.empty()) out += ", in " + years_words(p);
  if (p.impossible()) out += "; there is no such date, so never";
  return out;
}

std::string length_words(usec d) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> units{
      {{"week", 604800000000},
       {"day", 86400000000},
       {"hour", 3600000000},
       {"minute", 60000000},
       {"second", 1000000},
       {"microsecond", 1}}};
  std::vector<std::string> parts;
  std::int64_t rest = d.count();
  for (const auto& [name, us] : units) {
    const auto n = rest / us;
    rest %= us;
    if (n == 0) continue;
    parts.push_back(std::to_string(n) + " " + std::string(name) + (n == 1 ? "" : "s"));
  }
  return join(parts);
}

std::string words(const trigger& t);

std::string words(const std::vector<trigger>& all) {
  std::string out;
  for (const auto& t : all)
    out += (out.empty() ? "(" : "; (") + words(t) + ")";
  return out;
}

std::string date_words(std::chrono::local_days d) {
  return to_iso(wall_time{d.time_since_epoch()}, zone{}).substr(0, 10);
}

struct describer {
  const node& n;

  std::string operator()(const start_rule& r) const {
    return r.at_start ? "once when the scheduler starts" : "never";
  }
  std::string operator()(const date_rule& r) const { return "once, at " + to_iso(r.at, n.tz); }
  std::string operator()(const interval_rule& r) const {
    return "every " + length_words(r.length)
           + (r.wall_clock ? " by the clock on the wall" : " of time passed")
           + (n.has_start() ? ", counted from " + to_iso(n.start, n.tz) : "");
  }
  std::string operator()(const calendar_pattern& p) const { return calendar_words(p); }
  std::string operator()(const step_rule& r) const {
    std::vector<std::string> parts;
    const auto add = [&](int count, const char* unit) {
      if (count != 0) parts.push_back(std::to_string(count) + " " + unit + (count == 1 ? "" : "s"));
    };
    add(r.months / 12, "year");
    add(r.months % 12, "month");
    add(r.days, "day");
    const std::chrono::hh_mm_ss time{r.time_of_day};
    std::string out = "every " + join(parts) + " on the calendar at "
                      + two(static_cast<unsigned>(time.hours().count())) + ":"
                      + two(static_cast<unsigned>(time.minutes().count()));
    if (time.seconds().count() != 0)
      out += ":" + two(static_cast<unsigned>(time.seconds().count()));
    if (r.has_start) out += ", from " + date_words(r.start);
    if (r.has_last) out += ", up to and with " + date_words(r.last);
    return out;
  }
  std::string operator()(const and_rule& r) const {
    return "whenever all of these coincide"
           + (r.threshold.count() > 0 ? " within " + length_words(r.threshold) : std::string{})
           + ": " + words(r.members);
  }
  std::string operator()(const or_rule& r) const {
    return "whenever one of these does: " + words(r.members);
  }
  std::string operator()(const except_rule& r) const {
    std::vector<std::string> left_out;
    for (const auto& d : r.days)
      left_out.push_back(d.month != 0 ? "every " + std::to_string(d.day) + " "
                                            + std::string(month_names[d.month])
                         : d.first == d.last ? date_words(d.first)
                                             : date_words(d.first) + " to " + date_words(d.last));
    for (const auto& t : r.times)
      left_out.push_back("(" + words(t) + ")");
    return words(r.base) + (left_out.empty() ? "" : "; except " + join(left_out));
  }
};

std::string words(const trigger& t) {
  const node& n = t.content();
  std::string out = std::visit(describer{n}, n.rule);
  const bool interval = std::holds_alternative<interval_rule>(n.rule);
  if (n.has_start() && !interval) out += ", not before " + to_iso(n.start, n.tz);
  if (n.end != wall_time::max()) out += ", up to and with " + to_iso(n.end, n.tz);
  if (n.jitter.count() > 0) out += ", each delayed by up to " + length_words(n.jitter);
  return out;
}

std::string policy_words(const node& n) {
  const auto* i = std::get_if<interval_rule>(&n.rule);
  const bool wall = std::holds_alternative<calendar_pattern>(n.rule)
                    || std::holds_alternative<step_rule>(n.rule) || (i && i->wall_clock);
  if (!wall) return {};
  if (n.policy.cronie)
    return n.policy.wildcard ? " When the clocks change it follows them as they are."
                             : " A time the clocks skip happens right after; one they repeat "
                               "happens the first time only.";
  std::string out = " A time the clocks skip ";
  switch (n.policy.gap) {
  case gap_policy::skip:
    out += "does not happen";
    break;
  case gap_policy::run_after:
    out += "happens right after";
    break;
  case gap_policy::shift:
    out += "happens that much later";
    break;
  }
  out += "; one they repeat happens ";
  switch (n.policy.fold) {
  case fold_policy::both:
    out += "both times.";
    break;
  case fold_policy::first:
    out += "the first time.";
    break;
  case fold_policy::second:
    out += "the second time.";
    break;
  }
  return out;
}

} // namespace

result<std::string> explain(const spec& s, const compile_options& options) {
  const auto t = compile(s, options);
  if (!t) return tl::unexpected(t.error());
  std::string out = words(*t) + ", in " + std::string(t->timezone().name()) + ".";
  out.front() =
      static_cast<char>(out.front() >= 'a' && out.front() <= 'z' ? out.front() - 32 : out.front());
  return out + policy_words(t->content());
}

} // namespace lycosa::trigger
