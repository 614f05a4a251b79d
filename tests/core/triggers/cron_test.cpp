#include "tests/core/triggers/support.hpp"

namespace lycosa::trigger {
namespace {

TEST(cron, dates_that_do_not_exist_are_never) {
  for (const char* text :
       {R"({"type":"cron","month":4,"day":31})", R"({"type":"cron","month":3,"week":17})",
        R"({"type":"cron","month":2,"day":30,"year":"1970-9999"})", "0 0 31 2,4,6,9,11 *",
        R"({"type":"cron","day":"5th mon","month":2,"week":1})",
        R"({"type":"cron","dialect":"quartz","day":"31W","month":4})", "oncalendar: *-2,4-31",
        R"({"type":"cron","year":"2021","month":2,"day":29})"}) {
    EXPECT_EQ(times(make(text), "2024-01-01", 1), list{}) << text;
  }
  EXPECT_EQ(times(make("0 0 29 2 *"), "2096-03-01", 1), list{"2104-02-29T00:00:00+00:00"});
  EXPECT_EQ(times(make(R"({"type":"cron","day":"5th mon","month":2})"), "2024-01-01", 1),
            list{"2044-02-29T00:00:00+00:00"});
}

TEST(cron, a_time_that_only_ever_falls_into_gaps_never_fires) {
  const auto t =
      make(R"({"type":"cron","month":3,"day":"last sun","hour":2,"minute":30})", "Europe/Berlin");
  EXPECT_EQ(times(t, "2024-01-01", 1), list{});
}

TEST(cron, gaps_are_skipped_made_good_or_shifted) {
  const auto with = [](const char* gap) {
    return times(
        make(std::string(R"({"type":"cron","hour":2,"minute":"10,40","gap":")") + gap + "\"}",
             "Europe/Berlin"),
        "2024-03-31", 3);
  };
  EXPECT_EQ(with("skip"), (list{"2024-04-01T02:10:00+02:00", "2024-04-01T02:40:00+02:00",
                                "2024-04-02T02:10:00+02:00"}));
  EXPECT_EQ(with("run_after"), (list{"2024-03-31T03:00:00+02:00", "2024-04-01T02:10:00+02:00",
                                     "2024-04-01T02:40:00+02:00"}));
  EXPECT_EQ(with("shift"), (list{"2024-03-31T03:10:00+02:00", "2024-03-31T03:40:00+02:00",
                                 "2024-04-01T02:10:00+02:00"}));
}

TEST(cron, crontab_days_join_by_or_unless_one_starts_with_a_star) {
  EXPECT_EQ(times(make("0 0 13 * 5"), "2024-09-01", 3),
            (list{"2024-09-06T00:00:00+00:00", "2024-09-13T00:00:00+00:00",
                  "2024-09-20T00:00:00+00:00"}));
  EXPECT_EQ(times(make("0 0 */2 * 1"), "2024-09-01", 2),
            (list{"2024-09-09T00:00:00+00:00", "2024-09-23T00:00:00+00:00"}));
  EXPECT_EQ(times(make("0 0 1 * fri-sun"), "2024-09-30", 3),
            (list{"2024-10-01T00:00:00+00:00", "2024-10-04T00:00:00+00:00",
                  "2024-10-05T00:00:00+00:00"}));
  EXPECT_EQ(times(make("0 0 * * 5-0"), "2024-09-02", 4),
            (list{"2024-09-06T00:00:00+00:00", "2024-09-07T00:00:00+00:00",
                  "2024-09-08T00:00:00+00:00", "2024-09-13T00:00:00+00:00"}));
}

TEST(cron, names_stand_for_their_fields) {
  const struct {
    const char *name, *first;
  } names[] = {
      {"@yearly", "2025-01-01T00:00:00+00:00"},  {"@annually", "2025-01-01T00:00:00+00:00"},
      {"@monthly", "2024-06-01T00:00:00+00:00"}, {"@weekly", "2024-05-19T00:00:00+00:00"},
      {"@daily", "2024-05-16T00:00:00+00:00"},   {"@midnight", "2024-05-16T00:00:00+00:00"},
      {"@hourly", "2024-05-15T11:00:00+00:00"}};
  for (const auto& n : names)
    EXPECT_EQ(times(make(n.name), "2024-05-15T10:30:00Z", 1), list{n.first}) << n.name;
  EXPECT_TRUE(make("@reboot").at_start());
  EXPECT_EQ(times(make("@reboot"), "2024-05-15", 1), list{});
  EXPECT_FALSE(make("@daily").at_start());
}

TEST(cron, a_crontab_line_may_name_its_zone) {
  EXPECT_EQ(times(make("CRON_TZ=Asia/Tokyo 0 9 * * *"), "2024-05-15", 1),
            list{"2024-05-15T09:00:00+09:00"});
  // Such lines follow the clock: cron leaves them out of its rules for clock jumps.
  EXPECT_EQ(
      times(make(R"({"type":"crontab","expr":"CRON_TZ=Europe/Berlin 30 2 * * *","dst":"cronie"})"),
            "2024-03-31", 1),
      list{"2024-04-01T02:30:00+02:00"});
}

TEST(cron, random_values_are_chosen_once_by_the_seed_and_within_bounds) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto first = times(make("10~12 ~ * * *", "UTC", seed), "2024-05-15", 1).at(0);
    EXPECT_EQ(times(make(" 10~12  ~ * * *", "UTC", seed), "2024-05-15", 1).at(0), first);
    EXPECT_TRUE(first.substr(14, 2) >= "10" && first.substr(14, 2) <= "12") << first;
    seen.insert(first);
  }
  EXPECT_GT(seen.size(), 50u);
  EXPECT_EQ(times(make("0 23~ * * *"), "2024-05-15", 1), list{"2024-05-15T23:00:00+00:00"});
  EXPECT_EQ(times(make("~0 0 * * *"), "2024-05-15", 1), list{"2024-05-15T00:00:00+00:00"});
}

TEST(cron, quartz_letters_mean_what_its_manual_says) {
  const auto first = [](const char* expr, const char* from = "2024-05-15") {
    const auto found =
        times(make(std::string(R"({"type":"crontab","dialect":"quartz","expr":")") + expr + "\"}"),
              from, 1);
    return found.empty() ? std::string("never") : found[0];
  };
  EXPECT_EQ(first("0 0 12 L * ?"), "2024-05-31T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 L-3 * ?"), "2024-05-28T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 LW 6 ?"), "2024-06-28T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 15W 6 ?"), "2024-06-14T12:00:00+00:00"); // the 15th is a Saturday
  EXPECT_EQ(first("0 0 12 1W 6 ?"), "2024-06-03T12:00:00+00:00");  // never into May
  EXPECT_EQ(first("0 0 12 ? * 6L"), "2024-05-31T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 ? * FRIL"), "2024-05-31T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 ? * 6#3"), "2024-05-17T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 ? * L"), "2024-05-18T12:00:00+00:00");
  EXPECT_EQ(first("0 0 12 ? * 1"), "2024-05-19T12:00:00+00:00");
  EXPECT_EQ(first("0 0 22-2 * * ?", "2024-05-15T03:00:00Z"), "2024-05-15T22:00:00+00:00");
  EXPECT_EQ(first("0 0 12 ? * FRI-MON"), "2024-05-17T12:00:00+00:00");
  EXPECT_EQ(first("0 0 0 1 NOV-FEB ? 2024/2"), "2024-11-01T00:00:00+00:00");
  EXPECT_EQ(first("15/20 * * * * ?"), "2024-05-15T00:00:15+00:00");
}

TEST(cron, weekday_numbers_are_those_of_the_dialect) {
  const auto first = [](const char* dialect, const char* weekday) {
    const auto text = std::string(R"({"type":"cron","day_of_week":")") + weekday
                      + R"(","dialect":")" + dialect + "\"}";
    return times(make(text), "2024-05-13", 1).at(0).substr(8, 2); // a Monday
  };
  EXPECT_EQ(first("aps3", "0"), "13");
  EXPECT_EQ(first("aps4", "1"), "13");
  EXPECT_EQ(first("vixie", "1"), "13");
  EXPECT_EQ(first("quartz", "2"), "13");
  EXPECT_EQ(first("aps3", "6"), "19");
  EXPECT_EQ(first("aps4", "7"), "19");
  EXPECT_EQ(first("aps4", "0"), "19");
  EXPECT_EQ(first("vixie", "7"), "19");
  EXPECT_EQ(first("quartz", "1"), "19");
}

TEST(cron, refusals_name_the_field_and_the_column) {
  const struct {
    const char *text, *start;
  } cases[] = {
      {"60 * * * *", "minute: column 1: 60 is above"},
      {"0 5,24 * * *", "hour: column 5: 24 is above"},
      {"0 0 0 * *", "day: column 5: 0 is below"},
      {"0 0 * foo *", "month: column 7: expected a month"},
      {"0 0 * * mon-8", "day_of_week: column 13: 8 is above"},
      {"0 0 * * 6-1", "day_of_week: column 10: the range runs backwards"},
      {"5/15 * * * *", "minute: column 2: a step needs a range"},
      {"*/0 * * * *", "minute: column 3: a step must be at least 1"},
      {"1, * * * *", "minute: column 3: an element is missing"},
      {"* * * *", "expr: column 8: wrong number of fields; got 4, expected 5"},
      {"0 * * * * *", "expr: column 11: wrong number of fields; got 6, expected 5"},
      {"@dayly", "expr: column 1: unknown name"},
      {"@daily x", "expr: column 8: nothing may follow"},
      {"CRON_TZ=Mars/X 0 0 * * *", "expr: column 9: unknown time zone"},
      {"99999999999 * * * *", "minute: column 1: the number is too large"},
      {"", "trigger: column 1: the trigger is empty"},
      {"{\"type\":\"cron\",", "trigger: column 16: this is not JSON"},
      {"{\"type\":\"corn\"}", "type: unknown kind"},
      {"{\"type\":\"cron\",\"hour\":1e800}", "trigger: a number is out of range"},
      {R"({"type":"cron","minutes":5})",
       "minutes: cron has no such member; did you mean 'minute'?"},
      {R"({"type":"cron","hour":[1]})", "hour: expected a string or a number"},
      {R"({"type":"cron","hour":"1 2"})", "hour: column 2: nothing may follow"},
      {R"({"type":"cron","hour":""})", "hour: column 1: an element is missing"},
      {R"({"type":"cron","hour":1.5})", "hour: column 2: nothing may follow"},
      {R"({"type":"cron","day":"15W"})", "day: column 3: nothing may follow"},
      {R"({"type":"cron","day_of_week":"6#3","dialect":"vixie"})", "day_of_week: column 2"},
      {R"({"type":"cron","day":"1-5","day_of_week":"2","dialect":"quartz"})", "day_of_week:"},
      {R"({"type":"cron","hour":"?","dialect":"quartz"})", "hour: column 1: '?' is for"},
      {R"({"type":"cron","hour":2,"dialect":"cron"})", "dialect: expected aps3"},
      {R"({"type":"cron","hour":2,"timezone":"Mars"})", "timezone: unknown time zone"},
      {R"({"type":"cron","hour":2,"gap":"x"})", "gap: expected"},
      {R"({"type":"cron","hour":2,"fold":"x"})", "fold: expected"},
      {R"({"type":"cron","hour":2,"start_date":"2024-13-01"})",
       "start_date: column 1: there is no"},
      {R"({"type":"and","triggers":[{"type":"cron","hour":"2"},{"type":"cron","hour":"24"}]})",
       "triggers[1].hour: column 1: 24 is above"},
      {"every 5 parsecs", "every: column 9: unknown unit"},
      {"every 0s", "every: column 7"},
      {"oncalendar: Mon..Foo 10:00", "expr: column 6"},
      {"oncalendar: 25:00", "expr: column 1: out of range for the hour"},
  };
  for (const auto& c : cases) {
    const auto why = refusal(c.text);
    EXPECT_EQ(why.substr(0, std::string(c.start).size()), c.start) << c.text << " -> " << why;
  }
}

} // namespace
} // namespace lycosa::trigger
