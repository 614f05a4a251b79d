// What a trigger costs: reading it, and finding its next time, for common, sparse and impossible
// expressions, and near a change of the clocks.
#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace lycosa::trigger {
namespace {

struct subject {
  const char *name, *text, *from;
};

constexpr subject subjects[] = {
    {"every_90s", "every 90s", "2024-05-15T00:00:00Z"},
    {"every_5_minutes", "*/5 * * * *", "2024-05-15T00:00:00Z"},
    {"every_second", R"({"type":"cron","second":"*"})", "2024-05-15T00:00:00Z"},
    {"daily", "30 2 * * *", "2024-05-15T00:00:00Z"},
    {"monthly_last_friday", R"({"type":"cron","day":"last fri"})", "2024-05-15T00:00:00Z"},
    {"leap_day", "0 0 29 2 *", "2024-05-15T00:00:00Z"},
    {"iso_week_53", R"({"type":"cron","week":53})", "2024-05-15T00:00:00Z"},
    {"every_minute_in_a_fold", R"({"type":"cron","minute":"*","fold":"first"})",
     "2024-10-27T00:30:00Z"},
    {"after_2037", "30 2 * * *", "2045-05-15T00:00:00Z"},
    {"calendar_interval", R"({"type":"calendar_interval","months":1,"start_date":"2020-01-31"})",
     "2024-05-15T00:00:00Z"},
    {"oncalendar", "oncalendar: Mon..Fri *-*-* 09:00:00", "2024-05-15T00:00:00Z"},
    {"impossible_31_april", R"({"type":"cron","month":4,"day":31})", "2024-05-15T00:00:00Z"},
    {"impossible_week_17_in_march", R"({"type":"cron","month":3,"week":17})",
     "2024-05-15T00:00:00Z"},
    {"friday_the_13th",
     R"({"type":"and","triggers":[{"type":"cron","day":13},{"type":"cron","day_of_week":"fri"}]})",
     "2024-05-15T00:00:00Z"},
};

compile_options berlin() {
  compile_options options;
  options.default_zone = zone::find("Europe/Berlin").value();
  return options;
}

void next(benchmark::State& state, const subject& s) {
  const auto t = compile(parse_spec_text(s.text).value(), berlin()).value();
  const auto from = parse_time_text(s.from, "from").value().in(zone{});
  for (auto _ : state)
    benchmark::DoNotOptimize(t.next(from, from));
  state.counters["bytes"] = static_cast<double>(t.memory());
}

void read_and_compile(benchmark::State& state, const subject& s) {
  const auto options = berlin();
  for (auto _ : state)
    benchmark::DoNotOptimize(compile(parse_spec_text(s.text).value(), options));
}

[[maybe_unused]] const int registered = [] {
  for (const auto& s : subjects) {
    benchmark::RegisterBenchmark((std::string("next/") + s.name).c_str(),
                                 [&s](benchmark::State& state) { next(state, s); });
    benchmark::RegisterBenchmark((std::string("compile/") + s.name).c_str(),
                                 [&s](benchmark::State& state) { read_and_compile(state, s); });
  }
  return 0;
}();

} // namespace
} // namespace lycosa::trigger
