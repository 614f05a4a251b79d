#include "core/triggers/json.hpp"
#include "tests/core/triggers/support.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace lycosa::trigger {
namespace {

using nlohmann::json;

std::vector<json> read_lines(const std::string& file) {
  std::ifstream in(std::string(LYCOSA_TEST_DATA) + "/triggers/" + file);
  std::vector<json> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(json::parse(line));
  return out;
}

/// The cases were worked out with the rules of 2025; since then some countries have changed theirs.
/// Those cases still count on a machine whose database has the old rules.
bool rules_have_changed(const json& c) {
  struct fact {
    const char *zone, *time;
    int hours;
  };
  static constexpr fact facts[] = {{"Africa/Casablanca", "2028-05-26T00:00:00Z", 1},
                                   {"America/Havana", "2027-01-03T12:00:00Z", -5}};
  for (const auto& f : facts)
    if (c["timezone"] == f.zone && !c["expect"].empty()
        && c["expect"].back().get<std::string>() >= "2026-06")
      return zone::find(f.zone).value().at(moment(f.time)).offset != std::chrono::hours{f.hours};
  return false;
}

TEST(trigger_cases, known_fire_times_come_out_with_their_offsets) {
  const auto cases = read_lines("triggers.jsonl");
  ASSERT_GT(cases.size(), 300u);
  int outdated = 0;
  for (const auto& c : cases) {
    if (rules_have_changed(c)) {
      ++outdated;
      continue;
    }
    const std::string id = c["id"];
    const auto s = parse_json(c["trigger"].dump());
    ASSERT_TRUE(s) << id << ": " << s.error().text();
    compile_options options;
    options.default_zone = zone::find(c["timezone"].get<std::string>()).value();
    const auto t = compile(*s, options);
    ASSERT_TRUE(t) << id << ": " << t.error().text();
    std::optional<wall_time> previous;
    if (!c["previous"].is_null()) previous = moment(c["previous"].get<std::string>());
    json times = json::array();
    for (auto at :
         t->upcoming(previous, moment(c["start"].get<std::string>()), c["n"].get<std::size_t>()))
      times.push_back(to_iso(at, options.default_zone));
    EXPECT_EQ(times, c["expect"]) << id << " " << c["trigger"];
  }
  EXPECT_LE(outdated, 10);
}

TEST(trigger_cases, calendar_events_elapse_when_systemd_says) {
  const auto cases = read_lines("oncalendar.jsonl");
  ASSERT_GT(cases.size(), 15u);
  for (const auto& c : cases) {
    const std::string id = c["id"];
    const auto s = parse_spec_text("oncalendar: " + c["expr"].get<std::string>());
    ASSERT_TRUE(s) << id;
    const auto t = compile(*s);
    ASSERT_TRUE(t) << id << ": " << t.error().text();
    const auto after = moment(c["after"].get<std::string>());
    json times = json::array();
    for (auto at : t->upcoming(after, after, c["n"].get<std::size_t>())) {
      // The tool shows whole seconds only.
      times.push_back(to_iso(std::chrono::floor<std::chrono::seconds>(at), zone{}));
    }
    EXPECT_EQ(times, c["expect"]) << id << " " << c["expr"];
    EXPECT_EQ(canonical(*s).value().fields.at("expr"), c["normalized"]) << id;
  }
}

TEST(trigger_cases, what_apscheduler_refuses_is_refused_and_what_it_should_refuse_too) {
  const auto cases = read_lines("trigger_errors.jsonl");
  ASSERT_GT(cases.size(), 35u);
  for (const auto& c : cases) {
    json j = c.value("args", json::object());
    j["type"] = c["kind"];
    std::string field = "seconds";
    if (c["kind"] == "cron") {
      field = c["field"];
      j[field] = c["expr"];
      j["dialect"] = "aps3";
    } else if (c["kind"] == "crontab") {
      j["expr"] = c["expr"];
      j["dialect"] = "aps3";
    }
    const auto s = parse_json(j.dump());
    ASSERT_TRUE(s) << j;
    const auto t = compile(*s);
    const bool wanted = c["aps3"] == "accepted" && !c.contains("better");
    EXPECT_EQ(t.has_value(), wanted) << j;
    if (t) continue;
    EXPECT_EQ(t.error().code, errc::invalid_argument);
    if (c["kind"] == "cron") {
      EXPECT_EQ(t.error().what, field) << j;
      EXPECT_EQ(t.error().why.rfind("column ", 0), 0u) << t.error().why;
    }
  }
}

TEST(trigger_cases, the_printed_form_of_every_case_reads_back_to_the_same_trigger) {
  for (const auto& c : read_lines("triggers.jsonl")) {
    const auto s = parse_json(c["trigger"].dump()).value();
    const auto tidy = canonical(s);
    ASSERT_TRUE(tidy) << c["id"] << tidy.error().text();
    const auto again = parse_spec_text(to_text(*tidy));
    ASSERT_TRUE(again) << to_text(*tidy);
    EXPECT_EQ(*again, *tidy) << to_text(*tidy);
    EXPECT_EQ(canonical(*again).value(), *tidy);
    EXPECT_EQ(compile(*again).value(), compile(s).value()) << to_text(*tidy);
  }
}

} // namespace
} // namespace lycosa::trigger
