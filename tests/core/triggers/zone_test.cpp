#include "core/triggers/time_text.hpp"
#include "core/triggers/zone.hpp"
#include "core/triggers/zone_file.hpp"

#include <date/tz.h>
#include <gtest/gtest.h>

namespace lycosa::trigger {
namespace {

using namespace std::chrono;

wall_time moment(const char* iso) {
  return parse_time_text(iso, "time").value().in(zone{});
}

TEST(zone, every_zone_has_the_offsets_the_date_library_gives) {
  // The library ends with the last transition of the file, the end of 2037.
  const sys_days stop = 2037y / 6 / 1;
  std::size_t count = 0;
  for (const auto& z : date::get_tzdb().zones) {
    const auto ours = zone::find(z.name());
    if (!ours) continue; // files of the folder that are no zones by name
    ++count;
    try {
      (void)z.get_info(date::sys_days{date::year{2000} / 1 / 1});
    } catch (const std::exception&) {
      continue; // the library lists its folder's other files as zones and fails to read them
    }
    for (sys_days d = 1880y / 1 / 1; d < stop; d += days{17}) {
      const auto info = z.get_info(date::sys_seconds{d.time_since_epoch()});
      ASSERT_EQ(ours->at(wall_time{d}).offset, info.offset)
          << z.name() << " " << to_iso(wall_time{d}, zone{});
    }
  }
  EXPECT_GT(count, 300u);
}

TEST(zone, summers_after_the_end_of_the_file_follow_the_rule_at_its_end) {
  const auto berlin = zone::find("Europe/Berlin").value();
  EXPECT_EQ(to_iso(moment("2050-07-01T12:00:00Z"), berlin), "2050-07-01T14:00:00+02:00");
  EXPECT_EQ(to_iso(moment("2050-01-01T12:00:00Z"), berlin), "2050-01-01T13:00:00+01:00");
  EXPECT_EQ(to_iso(moment("2050-03-27T00:59:59Z"), berlin), "2050-03-27T01:59:59+01:00");
  EXPECT_EQ(to_iso(moment("2050-03-27T01:00:00Z"), berlin), "2050-03-27T03:00:00+02:00");
  const auto sydney = zone::find("Australia/Sydney").value();
  EXPECT_EQ(to_iso(moment("2050-07-01T12:00:00Z"), sydney), "2050-07-01T22:00:00+10:00");
  EXPECT_EQ(to_iso(moment("2050-01-01T12:00:00Z"), sydney), "2050-01-01T23:00:00+11:00");
  const auto dublin = zone::find("Europe/Dublin").value();
  EXPECT_EQ(to_iso(moment("2050-07-01T12:00:00Z"), dublin), "2050-07-01T13:00:00+01:00");
}

TEST(zone, a_reading_has_no_instant_in_a_gap_and_two_in_a_fold) {
  const auto berlin = zone::find("Europe/Berlin").value();
  const auto at = [&](const char* text) {
    const auto t = parse_time_text(text, "t").value();
    return berlin.find_instants(t.date + t.time_of_day).count;
  };
  EXPECT_EQ(at("2024-03-31T02:30:00"), 0u);
  EXPECT_EQ(at("2024-03-31T03:00:00"), 1u);
  EXPECT_EQ(at("2024-10-27T02:30:00"), 2u);
  EXPECT_EQ(at("2060-10-31T02:30:00"), 2u);
}

TEST(zone, unknown_and_dangerous_names_are_refused) {
  for (const char* name : {"", "Mars/Phobos", "../../etc/passwd", "/etc/passwd", "Europe/../UTC",
                           "Europe", "europe/berlin", "posixrules\n"})
    EXPECT_FALSE(zone::find(name)) << name;
  EXPECT_EQ(zone::find("UTC").value(), zone{});
  EXPECT_EQ(zone::find("US/Eastern").value(), zone::find("US/Eastern").value());
}

TEST(zone, reading_an_unchanged_database_again_changes_nothing) {
  const auto berlin = zone::find("Europe/Berlin").value();
  EXPECT_FALSE(reload_zones());
  EXPECT_EQ(to_iso(moment("2024-07-01T12:00:00Z"), berlin), "2024-07-01T14:00:00+02:00");
}

TEST(zone_file, broken_bytes_are_no_zone) {
  EXPECT_FALSE(detail::parse_zone_file(""));
  EXPECT_FALSE(detail::parse_zone_file("TZif2"));
  std::string bytes = "TZif2" + std::string(39, '\0');
  EXPECT_FALSE(detail::parse_zone_file(bytes));
  bytes[43] = '\x7f';
  EXPECT_FALSE(detail::parse_zone_file(bytes));
}

TEST(posix_tail, reads_the_forms_zone_files_use) {
  EXPECT_TRUE(posix_tail::parse("CET-1CEST,M3.5.0,M10.5.0/3")->has_changes());
  EXPECT_TRUE(posix_tail::parse("<-02>2<-01>,M3.5.0/-1,M10.5.0/0")->has_changes());
  EXPECT_TRUE(posix_tail::parse("IST-2IDT,M3.4.4/26,M10.5.0")->has_changes());
  EXPECT_EQ(posix_tail::parse("<+0545>-5:45")->standard(), hours{5} + minutes{45});
  const auto julian = posix_tail::parse("AAA3BBB,J60/0,300/1").value();
  EXPECT_EQ(julian.changes(2024)[0].at, moment("2024-03-01T03:00:00Z"));
  for (const char* bad :
       {"", "C", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1X"})
    EXPECT_FALSE(posix_tail::parse(bad)) << bad;
}

} // namespace
} // namespace lycosa::trigger
