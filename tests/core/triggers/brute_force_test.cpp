#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <date/tz.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lycosa::trigger {
namespace {

using namespace std::chrono;

constexpr std::array zones{"Australia/Lord_Howe", "Asia/Kathmandu",  "America/St_Johns",
                           "Antarctica/Troll",    "Europe/Dublin",   "Africa/Casablanca",
                           "Pacific/Apia",        "Pacific/Chatham", "Africa/Cairo",
                           "Europe/Berlin"};

/// A random expression of one field and the numbers it stands for, made side by side, so that the
/// parser under test has no part in what is expected.
struct field {
  std::string text;
  std::vector<bool> set;
  bool star = false;
};

class maker {
public:
  explicit maker(std::uint32_t seed) : random_(seed) {}

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  field make(int low, int high, int stars) {
    field f;
    f.set.resize(static_cast<std::size_t>(high) + 1);
    const auto add = [&](int a, int b, int step) {
      for (int v = a; v <= b; v += step)
        f.set[static_cast<std::size_t>(v)] = true;
    };
    if (pick(0, 99) < stars) {
      f.text = "*";
      f.star = true;
      add(low, high, 1);
      return f;
    }
    const int items = pick(1, 3);
    for (int i = 0; i < items; ++i) {
      if (i > 0) f.text += ",";
      const int a = pick(low, high), b = pick(a, high);
      switch (pick(0, 3)) {
      case 0:
        f.text += std::to_string(a);
        add(a, a, 1);
        break;
      case 1:
        f.text += std::to_string(a) + "-" + std::to_string(b);
        add(a, b, 1);
        break;
      case 2: {
        if (i == 0) f.star = true;
        const int step = pick(2, high - low);
        f.text += "*/" + std::to_string(step);
        add(low, high, step);
        break;
      }
      default: {
        if (b - a < 2) {
          f.text += std::to_string(a);
          add(a, a, 1);
          break;
        }
        const int step = pick(1, b - a);
        f.text += std::to_string(a) + "-" + std::to_string(b) + "/" + std::to_string(step);
        add(a, b, step);
      }
      }
    }
    return f;
  }

private:
  std::mt19937 random_;
};

struct expression {
  field minute, hour, day, month, weekday;
  bool vixie = false;

  [[nodiscard]] bool matches(std::int64_t local_minutes) const {
    const auto of_day = (local_minutes % 1440 + 1440) % 1440;
    if (!minute.set[static_cast<std::size_t>(of_day % 60)]
        || !hour.set[static_cast<std::size_t>(of_day / 60)])
      return false;
    const auto day_number = (local_minutes - of_day) / 1440;
    const date::sys_days d{date::days{day_number}};
    const date::year_month_day ymd{d};
    if (!month.set[static_cast<unsigned>(ymd.month())]) return false;
    const unsigned wd = date::weekday{d}.c_encoding(); // Sunday 0
    const bool by_day = day.set[static_cast<unsigned>(ymd.day())];
    const bool by_weekday =
        vixie ? weekday.set[wd] || (wd == 0 && weekday.set[7]) : weekday.set[(wd + 6) % 7];
    if (vixie && !day.star && !weekday.star) return by_day || by_weekday;
    return by_day && by_weekday;
  }
};

expression make_expression(maker& m, bool vixie) {
  expression e;
  e.vixie = vixie;
  e.minute = m.make(0, 59, 10);
  e.hour = m.make(0, 23, 30);
  e.day = m.make(1, 31, 40);
  e.month = m.make(1, 12, 60);
  e.weekday = m.make(0, vixie ? 7 : 6, 50);
  return e;
}

/// What a zone's clocks show at each minute of a year, and whether they show it more than once.
struct clock_readings {
  std::int64_t begin = 0; ///< minutes of the epoch
  std::vector<std::int64_t> local;
  std::vector<bool> repeated_before, repeated_later;

  clock_readings(const date::time_zone* z, int year) {
    const auto at = [](int y) {
      return duration_cast<minutes>(date::sys_days{date::year{y} / 1 / 1}.time_since_epoch())
          .count();
    };
    begin = at(year);
    local.resize(static_cast<std::size_t>(at(year + 1) - begin));
    repeated_before.resize(local.size());
    repeated_later.resize(local.size());
    date::sys_info info{};
    for (std::size_t i = 0; i < local.size(); ++i) {
      const auto m = begin + static_cast<std::int64_t>(i);
      const date::sys_seconds t{seconds{m * 60}};
      if (i == 0 || t >= info.end) info = z->get_info(t);
      local[i] = m + info.offset.count() / 60;
    }
    std::int64_t most = local.front() - 1;
    for (std::size_t i = 0; i < local.size(); ++i) {
      repeated_before[i] = local[i] <= most;
      most = std::max(most, local[i]);
    }
    std::int64_t least = local.back() + 1;
    for (std::size_t i = local.size(); i-- > 0;) {
      repeated_later[i] = local[i] >= least;
      least = std::min(least, local[i]);
    }
  }
};

/// Every minute of a year, tried one by one.
std::vector<wall_time> by_trying(const expression& e, const clock_readings& clock,
                                 std::string_view gap, std::string_view fold) {
  std::vector<wall_time> out;
  for (std::size_t i = 0; i < clock.local.size(); ++i) {
    bool fires = e.matches(clock.local[i]);
    if (fires && fold == "first" && clock.repeated_before[i]) fires = false;
    if (fires && fold == "second" && clock.repeated_later[i]) fires = false;
    if (!fires && gap == "run_after" && i > 0)
      for (auto lost = clock.local[i - 1] + 1; lost < clock.local[i]; ++lost)
        fires = fires || e.matches(lost);
    if (fires) out.push_back(wall_time{minutes{clock.begin + static_cast<std::int64_t>(i)}});
  }
  return out;
}

TEST(trigger_brute_force, random_expressions_fire_at_every_matching_minute_and_no_other) {
  maker m(20260401);
  for (const char* name : zones) {
    for (const int year : {2011, 2010, 2018, 2024, 2025}) {
      const clock_readings clock(date::locate_zone(name), year);
      for (int round = 0; round < 4; ++round) {
        const bool vixie = m.pick(0, 1) == 1;
        const auto e = make_expression(m, vixie);
        static constexpr std::array folds{"both", "first", "second"};
        static constexpr std::array gaps{"skip", "run_after"};
        spec s;
        s.type = "crontab";
        s.fields = {{"expr", e.minute.text + " " + e.hour.text + " " + e.day.text + " "
                                 + e.month.text + " " + e.weekday.text},
                    {"dialect", vixie ? "vixie" : "aps3"},
                    {"timezone", name},
                    {"gap", gaps[static_cast<std::size_t>(m.pick(0, 1))]},
                    {"fold", folds[static_cast<std::size_t>(m.pick(0, 2))]}};
        const auto t = compile(s);
        ASSERT_TRUE(t) << t.error().text() << " " << to_text(s);
        const auto expected = by_trying(e, clock, s.fields["gap"], s.fields["fold"]);
        const wall_time begin{sys_days{std::chrono::year{year} / 1 / 1}};
        const wall_time end{sys_days{std::chrono::year{year + 1} / 1 / 1}};
        std::vector<wall_time> found;
        for (auto at = t->next(std::nullopt, begin); at && *at < end; at = t->next(at, *at))
          found.push_back(*at);
        ASSERT_EQ(found.size(), expected.size()) << to_text(s) << " " << year;
        const auto differ = std::mismatch(found.begin(), found.end(), expected.begin());
        ASSERT_TRUE(differ.first == found.end())
            << to_text(s) << ": " << to_iso(*differ.first, zone{}) << " instead of "
            << to_iso(*differ.second, zone{});
        for (int probe = 0; probe < 50; ++probe) { // from anywhere, not only along the chain
          const wall_time x = begin + minutes{m.pick(0, 525'000)} + seconds{m.pick(0, 59)};
          const auto after = std::upper_bound(expected.begin(), expected.end(), x);
          const auto got = t->next(x, x - hours{m.pick(0, 48)});
          if (after == expected.end()) {
            EXPECT_TRUE(!got || *got >= end);
          } else {
            ASSERT_TRUE(got) << to_text(s);
            EXPECT_EQ(*got, *after) << to_text(s);
          }
        }
      }
    }
  }
}

TEST(trigger_brute_force, the_printed_form_of_random_expressions_reads_back) {
  maker m(7);
  for (int round = 0; round < 2000; ++round) {
    const bool vixie = m.pick(0, 1) == 1;
    const auto e = make_expression(m, vixie);
    spec s;
    s.type = "crontab";
    s.fields = {{"expr", e.minute.text + "  " + e.hour.text + " " + e.day.text + " " + e.month.text
                             + " " + e.weekday.text},
                {"dialect", vixie ? "vixie" : "aps3"}};
    const auto tidy = canonical(s).value();
    const auto again = parse_spec_text(to_text(tidy)).value();
    EXPECT_EQ(again, tidy);
    EXPECT_EQ(compile(again).value(), compile(s).value()) << to_text(tidy);
  }
}

TEST(trigger_brute_force, results_increase_whatever_the_trigger_and_the_clock_say) {
  maker m(99);
  for (int round = 0; round < 300; ++round) {
    const auto e = make_expression(m, false);
    spec s;
    s.type = "cron";
    s.fields = {{"minute", e.minute.text},
                {"hour", e.hour.text},
                {"day", e.day.text},
                {"month", e.month.text},
                {"second", m.make(0, 59, 20).text},
                {"week", m.make(1, 53, 80).text},
                {"timezone", zones[static_cast<std::size_t>(m.pick(0, 9))]},
                {"gap", m.pick(0, 1) == 0 ? "shift" : "run_after"}};
    const auto t = compile(s).value();
    std::optional<wall_time> previous;
    const wall_time now{sys_days{2024y / 3 / 1}};
    for (int i = 0; i < 200; ++i) {
      // The clock runs anywhere, back too: what counts is the run before.
      const auto next = t.next(previous, now + hours{m.pick(-20'000, 20'000)});
      if (!next) break;
      if (previous) {
        ASSERT_GT(*next, *previous) << to_text(s);
      }
      previous = next;
    }
  }
}

} // namespace
} // namespace lycosa::trigger
