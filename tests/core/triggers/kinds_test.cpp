#include "core/triggers/json.hpp"
#include "tests/core/triggers/support.hpp"

namespace lycosa::trigger {
namespace {

using namespace std::chrono_literals;

TEST(date_trigger, fires_once_even_when_late) {
  const auto t = make(R"({"type":"date","run_date":"2024-05-01T10:00:00+02:00"})");
  EXPECT_EQ(times(t, "2024-06-01", 5), list{"2024-05-01T08:00:00+00:00"});
  const auto naive = make(R"({"type":"date","run_date":"2024-05-01 10:00:00"})", "Asia/Tokyo");
  EXPECT_EQ(times(naive, "2024-01-01", 5), list{"2024-05-01T10:00:00+09:00"});
  const auto unix = make(R"({"type":"date","run_date":1714557600.25})");
  EXPECT_EQ(times(unix, "2024-01-01", 5), list{"2024-05-01T10:00:00.250000+00:00"});
}

TEST(interval_trigger, counts_time_passed_and_not_the_clock) {
  const auto t =
      make(R"({"type":"interval","days":1,"start_date":"2024-03-30T12:00:00"})", "Europe/Berlin");
  EXPECT_EQ(times(t, "2024-03-30", 3),
            (list{"2024-03-30T12:00:00+01:00", "2024-03-31T13:00:00+02:00",
                  "2024-04-01T13:00:00+02:00"}));
}

TEST(interval_trigger, may_count_by_the_clock_on_the_wall) {
  const auto t =
      make(R"({"type":"interval","days":1,"start_date":"2024-03-30T02:30:00","wall_clock":true})",
           "Europe/Berlin");
  EXPECT_EQ(times(t, "2024-03-30", 3),
            (list{"2024-03-30T02:30:00+01:00", "2024-04-01T02:30:00+02:00",
                  "2024-04-02T02:30:00+02:00"}));
}

TEST(interval_trigger, without_a_start_begins_one_interval_from_now) {
  EXPECT_EQ(times(make("every 90s"), "2024-05-01", 2),
            (list{"2024-05-01T00:01:30+00:00", "2024-05-01T00:03:00+00:00"}));
  const auto t = make("every 1h30m");
  EXPECT_EQ(t.next(moment("2024-05-01T00:00:01Z"), moment("2030-01-01")),
            moment("2024-05-01T01:30:01Z"));
  compile_options options;
  options.anchor = moment("2024-05-01");
  const auto anchored = compile(parse_spec_text("every 10m").value(), options).value();
  EXPECT_EQ(anchored.next(std::nullopt, moment("2024-05-01T00:25:00Z")),
            moment("2024-05-01T00:30:00Z"));
}

TEST(interval_trigger, takes_fractions_exactly) {
  EXPECT_EQ(times(make(R"({"type":"interval","seconds":0.1,"start_date":"2024-05-01"})"),
                  "2024-05-01T00:00:00.250000Z", 2),
            (list{"2024-05-01T00:00:00.300000+00:00", "2024-05-01T00:00:00.400000+00:00"}));
}

TEST(calendar_interval_trigger, keeps_the_day_or_waits_for_it) {
  EXPECT_EQ(times(make(R"({"type":"calendar_interval","years":1,"start_date":"2024-02-29"})"),
                  "2024-01-01", 3),
            (list{"2024-02-29T00:00:00+00:00", "2028-02-29T00:00:00+00:00",
                  "2032-02-29T00:00:00+00:00"}));
  const auto ended = make(
      R"({"type":"calendar_interval","days":2,"hour":20,"start_date":"2024-05-01","end_date":"2024-05-05"})");
  EXPECT_EQ(times(ended, "2024-05-02", 9),
            (list{"2024-05-03T20:00:00+00:00", "2024-05-05T20:00:00+00:00"}));
  EXPECT_NE(refusal(R"({"type":"calendar_interval"})"), "");
  EXPECT_NE(refusal(R"({"type":"calendar_interval","days":1.5})"), "");
  EXPECT_NE(refusal(R"({"type":"calendar_interval","days":1,"hour":24})"), "");
}

TEST(and_trigger, never_returns_from_searching_for_what_cannot_meet) {
  EXPECT_EQ(times(make(R"({"type":"and","triggers":[
      {"type":"interval","seconds":2,"start_date":"2024-01-01T00:00:00.5"},
      {"type":"cron","minute":1}]})"),
                  "2024-01-01", 1),
            list{});
  EXPECT_EQ(times(make(R"({"type":"and","triggers":[
      {"type":"interval","seconds":2,"start_date":"2024-01-01T00:00:00"},
      {"type":"interval","seconds":2,"start_date":"2024-01-01T00:00:01"}]})"),
                  "2024-01-01", 1),
            list{});
  EXPECT_EQ(times(make(R"({"type":"and","triggers":[
      {"type":"cron","hour":2},{"type":"cron","hour":3}]})"),
                  "2024-01-01", 1),
            list{});
}

TEST(and_trigger, finds_intervals_that_meet_once_in_years) {
  EXPECT_EQ(times(make(R"({"type":"and","triggers":[
      {"type":"interval","microseconds":9999991,"start_date":"2024-01-01T00:00:00"},
      {"type":"interval","microseconds":10000019,"start_date":"2024-01-01T00:00:00"}]})"),
                  "2024-01-01T00:00:01Z", 1),
            list{"2027-03-03T09:48:19.999829+00:00"});
}

TEST(and_trigger, counts_a_meeting_within_the_threshold_once) {
  const auto t = make(R"({"type":"and","threshold":1,"triggers":[
      {"type":"interval","seconds":10,"start_date":"2024-01-01T00:00:00"},
      {"type":"interval","seconds":10,"start_date":"2024-01-01T00:00:00.5"}]})");
  EXPECT_EQ(times(t, "2024-01-01", 3),
            (list{"2024-01-01T00:00:00+00:00", "2024-01-01T00:00:10+00:00",
                  "2024-01-01T00:00:20+00:00"}));
}

TEST(or_trigger, gives_each_time_once_and_keeps_every_grid) {
  const auto t = make(R"({"type":"or","triggers":[
      {"type":"interval","minutes":20,"start_date":"2024-01-01T00:10:00"},
      {"type":"cron","minute":"*/15"},{"type":"date","run_date":"2024-01-01T00:20:00"}]})");
  EXPECT_EQ(times(t, "2024-01-01", 6),
            (list{"2024-01-01T00:00:00+00:00", "2024-01-01T00:10:00+00:00",
                  "2024-01-01T00:15:00+00:00", "2024-01-01T00:20:00+00:00",
                  "2024-01-01T00:30:00+00:00", "2024-01-01T00:45:00+00:00"}));
}

TEST(or_trigger, a_member_that_never_fires_does_not_silence_the_others) {
  // The 13th that is a 14th: only searching shows that these two never meet.
  const std::string never =
      R"({"type":"and","triggers":[{"type":"cron","day":13},{"type":"cron","day":14}]})";
  const auto t = make(R"({"type":"or","triggers":[)" + never + "," + never + "," + never
                      + R"(,{"type":"cron","hour":9}]})");
  EXPECT_EQ(times(t, "2024-01-01", 3),
            (list{"2024-01-01T09:00:00+00:00", "2024-01-02T09:00:00+00:00",
                  "2024-01-03T09:00:00+00:00"}));
}

TEST(except_trigger, leaves_out_days_holidays_and_times) {
  const auto t = make(R"({"type":"except","trigger":{"type":"cron","hour":9},
      "except":["2024-12-27..2024-12-29","12-25",{"type":"cron","day":"last","hour":9}]})",
                      "Europe/Berlin");
  EXPECT_EQ(times(t, "2024-12-24", 4),
            (list{"2024-12-24T09:00:00+01:00", "2024-12-26T09:00:00+01:00",
                  "2024-12-30T09:00:00+01:00", "2025-01-01T09:00:00+01:00"}));
  const auto none = make(
      R"({"type":"except","trigger":{"type":"cron","second":"*"},"except":{"type":"cron","second":"*"}})");
  EXPECT_EQ(times(none, "2024-12-24", 1), list{});
  EXPECT_NE(refusal(R"({"type":"except","trigger":{"type":"cron"},"except":["2024-02-30"]})"), "");
  EXPECT_NE(refusal(R"({"type":"except","trigger":{"type":"cron"},"except":["13-01"]})"), "");
  EXPECT_NE(refusal(R"({"type":"except"})"), "");
}

TEST(bounds, start_and_end_hold_for_combinations_too) {
  const auto t = make(R"({"type":"or","start_date":"2024-01-02","end_date":"2024-01-03",
      "triggers":[{"type":"cron","hour":0},{"type":"cron","hour":12}]})");
  EXPECT_EQ(times(t, "2023-01-01", 9),
            (list{"2024-01-02T00:00:00+00:00", "2024-01-02T12:00:00+00:00",
                  "2024-01-03T00:00:00+00:00"}));
}

TEST(jitter, never_adds_up_never_reaches_the_next_time_and_never_passes_the_end) {
  const auto t = make(R"({"type":"interval","minutes":10,"jitter":3600,
      "start_date":"2024-01-01","end_date":"2024-01-02"})");
  std::optional<wall_time> previous;
  std::set<std::int64_t> delays;
  for (int i = 0; i <= 144; ++i) {
    const auto f = t.plan(previous, moment("2024-01-01"), 42);
    ASSERT_TRUE(f) << i;
    EXPECT_EQ(f->nominal, moment("2024-01-01") + i * 10min);
    EXPECT_GE(f->jitter, 0us);
    EXPECT_LT(f->jitter, 10min);
    EXPECT_LE(f->planned(), moment("2024-01-02"));
    EXPECT_EQ(t.plan(previous, moment("2024-01-01"), 42), f);
    delays.insert(f->jitter.count());
    previous = f->nominal;
  }
  EXPECT_GT(delays.size(), 100u);
  EXPECT_FALSE(t.plan(previous, moment("2024-01-01"), 42));
}

TEST(previous_run, a_clock_set_back_repeats_nothing) {
  const auto t = make("*/5 * * * *");
  EXPECT_EQ(t.next(moment("2024-05-01T12:00:00Z"), moment("2024-05-01T09:00:00Z")),
            moment("2024-05-01T12:05:00Z"));
}

TEST(memory, a_trigger_of_a_stored_job_is_small) {
  for (const char* text : {"*/5 * * * *", "every 90s", "oncalendar: Mon..Fri 09:00",
                           R"({"type":"calendar_interval","months":1})"})
    EXPECT_LE(make(text).memory(), 220u) << text;
}

TEST(explain, says_what_an_expression_means) {
  const auto words = [](const char* text) {
    return explain(parse_spec_text(text).value()).value();
  };
  EXPECT_EQ(words("30 2 * * 1-5"), "At 02:30, on Monday to Friday, in UTC. A time the clocks skip "
                                   "does not happen; one they repeat happens both times.");
  EXPECT_NE(words("0 0 13 * 5").find("on day 13 of the month, and also on every Friday"),
            std::string::npos);
  EXPECT_NE(words(R"({"type":"cron","day":13,"day_of_week":"fri"})")
                .find("on day 13 of the month, if it is a Friday"),
            std::string::npos);
  EXPECT_NE(words(R"({"type":"cron","day":"*/3"})").find("day 1, 4, 7"), std::string::npos);
  EXPECT_NE(words("0 0 31 2 *").find("never"), std::string::npos);
  EXPECT_EQ(words("every 90m"), "Every 1 hour and 30 minutes of time passed, in UTC.");
}

TEST(canonical, says_the_same_in_its_shortest_form) {
  const auto text = [](const char* from) {
    return to_text(canonical(parse_spec_text(from).value()).value());
  };
  EXPECT_EQ(text("  */5   * * JAN mon "), "*/5 * * jan mon");
  EXPECT_EQ(text("@daily"), "0 0 * * *");
  EXPECT_EQ(text("@reboot"), "@reboot");
  EXPECT_EQ(text("every 1 hours 30 minutes"), "every 90m");
  EXPECT_EQ(text("oncalendar: mon,tue 10:00"), "oncalendar: Mon,Tue *-*-* 10:00:00");
  EXPECT_EQ(text(R"({"type":"interval","days":1,"hours":24})"), "every 2d");
  EXPECT_EQ(
      text(R"({"day":"Last  FRI , 3","type":"cron","dialect":"aps3","hour":7,"fold":"both"})"),
      R"({"type":"cron","day":"last fri,3","hour":7})");
  for (
      const char* same :
      {R"({"type":"and","threshold":1.5,"triggers":[{"type":"date","run_date":1},{"type":"interval","seconds":2.5}]})",
       R"({"type":"except","trigger":{"type":"crontab","expr":"@hourly"},"except":["12-25",{"type":"cron","hour":3}]})",
       R"({"type":"crontab","dialect":"quartz","expr":"0 0 12 lw * ?"})",
       R"({"type":"cron","dialect":"quartz","day_of_week":"FRI#2","hour":"22-2"})",
       R"({"type":"calendar_interval","months":1,"days":0,"start_date":"2024-01-31","timezone":"Asia/Tokyo"})",
       "CRON_TZ=Asia/Tokyo 0 0 * * *", "oncalendar: *-*~07/1 0/8:00:05.5/20 Europe/Berlin",
       "0~59 3 * * *"}) {
    const auto s = parse_spec_text(same).value();
    const auto tidy = canonical(s).value();
    const auto again = parse_spec_text(to_text(tidy)).value();
    EXPECT_EQ(again, tidy) << same;
    EXPECT_EQ(canonical(again).value(), tidy) << same;
    EXPECT_EQ(compile(again).value(), compile(s).value()) << to_text(tidy);
  }
}

TEST(canonical, the_order_in_which_a_list_was_written_says_nothing) {
  for (const auto& [one, other] : std::vector<std::pair<const char*, const char*>>{
           {"oncalendar: 12,1:13,4:20,10.30,20", "oncalendar: 1,12:4,13:10.3,20"},
           {"oncalendar: 2031,2029..2030-5,2-9,3", "oncalendar: 2029..2030,2031-2,5-3,9"},
           {"oncalendar: Fri,Mon *-*~3,1", "oncalendar: Mon,Fri *-*~1,3"},
           {"30,10 5,2 9,1 12,3 fri,mon", "10,30 2,5 1,9 3,12 mon,fri"},
           {R"({"type":"cron","year":"2031,2029","second":"9,3"})",
            R"({"type":"cron","year":"2029,2031","second":"3,9"})"}}) {
    const auto a = parse_spec_text(one).value(), b = parse_spec_text(other).value();
    EXPECT_EQ(compile(a).value(), compile(b).value()) << one;
    EXPECT_EQ(compile(parse_spec_text(to_text(canonical(a).value())).value()).value(),
              compile(a).value())
        << one;
  }
}

} // namespace
} // namespace lycosa::trigger
