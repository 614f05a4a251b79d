#include "core/jobs/crontab_file.hpp"
#include "tests/core/jobs/support.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace lycosa::jobs {
namespace {

using json = nlohmann::json;
using test::at;

crontab_options options() {
  crontab_options o;
  o.source = "crontab";
  o.now = at("2026-03-01T00:00:00Z");
  return o;
}

crontab_options system_form() {
  auto o = options();
  o.system = true;
  return o;
}

/// The jobs of a crontab that has nothing wrong.
std::vector<json> jobs_of(std::string_view text, const crontab_options& o = options()) {
  const auto file = read_crontab(text, o);
  for (const auto& e : file.errors)
    ADD_FAILURE() << e.line << ": " << e.field << ": " << e.why;
  std::vector<json> out;
  for (const auto& e : file.entries)
    out.push_back(json::parse(e.json));
  return out;
}

json one(std::string_view text, const crontab_options& o = options()) {
  const auto all = jobs_of(text, o);
  EXPECT_EQ(all.size(), 1u) << text;
  return all.empty() ? json::object() : all.front();
}

/// `line: field: why` of the only error.
std::string refused(std::string_view text, const crontab_options& o = options()) {
  const auto file = read_crontab(text, o);
  EXPECT_EQ(file.errors.size(), 1u) << text;
  if (file.errors.empty()) return {};
  const auto& e = file.errors.front();
  return std::to_string(e.line) + ": " + e.field + ": " + e.why;
}

std::vector<std::string> warnings(std::string_view text, const crontab_options& o = options()) {
  std::vector<std::string> out;
  for (const auto& w : read_crontab(text, o).warnings)
    out.push_back(std::to_string(w.line) + ": " + w.field);
  return out;
}

constexpr auto debian = R"(# /etc/crontab: system-wide crontab
# Unlike any other crontab you don't have to run the `crontab'
# command to install the new version when you edit this file
# and files in /etc/cron.d. These files also have username fields,
# that none of the other crontabs do.

SHELL=/bin/sh
# You can also override PATH, but by default, newer versions inherit it from the environment
#PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

# Example of job definition:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |  .---------- day of month (1 - 31)
# |  |  |  .------- month (1 - 12) OR jan,feb,mar,apr ...
# |  |  |  |  .---- day of week (0 - 6) (Sunday=0 or 7) OR sun,mon,tue,wed,thu,fri,sat
# |  |  |  |  |
# *  *  *  *  * user-name command to be executed
17 *	* * *	root	cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
47 6	* * 7	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }
52 6	1 * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }
#
)";

TEST(crontab_file, the_stock_system_crontab) {
  const auto all = jobs_of(debian, system_form());
  ASSERT_EQ(all.size(), 4u);
  const auto& hourly = all[0];
  EXPECT_EQ(hourly["trigger"]["type"], "crontab");
  EXPECT_EQ(hourly["trigger"]["expr"], "17 * * * *");
  EXPECT_EQ(hourly["trigger"]["dialect"], "vixie");
  EXPECT_EQ(hourly["action"]["shell"], "cd / && run-parts --report /etc/cron.hourly");
  EXPECT_EQ(hourly["action"]["user"], "root");
  EXPECT_EQ(hourly["action"]["env"], json({{"SHELL", "/bin/sh"}}));
  EXPECT_EQ(hourly["overlap"], "allow");
  EXPECT_EQ(hourly["tags"], json({{"crontab", "crontab:19"}})) << "the drawing is no description";
  EXPECT_EQ(all[2]["trigger"]["expr"], "47 6 * * 7");
  EXPECT_TRUE(hourly["id"].get<std::string>().starts_with("cd-run-parts-cron.hourly-"));
}

TEST(crontab_file, the_jobs_are_ready_to_run) {
  const auto file = read_crontab("CRON_TZ=UTC\n0 5 * * 1 /usr/bin/backup\n", options());
  ASSERT_EQ(file.entries.size(), 1u);
  const auto& j = file.entries[0].job;
  EXPECT_EQ(j.trigger.upcoming(std::nullopt, options().now, 2),
            (std::vector{at("2026-03-02T05:00:00Z"), at("2026-03-09T05:00:00Z")}));
  EXPECT_EQ(j.overlap, overlap_policy::allow);
  EXPECT_EQ(j.misfire_grace, usec{std::chrono::seconds{60}});
  EXPECT_NE(explain_trigger(j).find("05:00"), std::string::npos);
}

TEST(crontab_file, variables_hold_for_the_lines_below_them) {
  const auto all = jobs_of("@daily a\nA=1\n  B = two words  \n\"C D\"=' x '\nE=\n@daily b\nA=2\n"
                           "@daily c\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_FALSE(all[0]["action"].contains("env"));
  EXPECT_EQ(all[1]["action"]["env"],
            json({{"A", "1"}, {"B", "two words"}, {"C D", " x "}, {"E", ""}}));
  EXPECT_EQ(all[2]["action"]["env"]["A"], "2");
}

TEST(crontab_file, a_shell_of_its_own_runs_the_command) {
  EXPECT_EQ(one("SHELL=/bin/bash\n@daily echo $((1+1))")["action"]["argv"],
            json({"/bin/bash", "-c", "echo $((1+1))"}));
  EXPECT_EQ(one("SHELL=/bin/sh\n@daily x")["action"]["shell"], "x");
  EXPECT_EQ(one("HOME=/srv\n@daily x")["action"]["cwd"], "/srv");
}

TEST(crontab_file, who_gets_the_mail_is_kept) {
  const auto j = one("MAILTO=\"ops@example.org\"\nMAILFROM=cron\n- 0 * * * * x");
  EXPECT_EQ(j["tags"]["mailto"], "ops@example.org");
  EXPECT_EQ(j["tags"]["mailfrom"], "cron");
  EXPECT_EQ(one("MAILTO=\n@daily x")["tags"]["mailto"], "");
}

TEST(crontab_file, the_zone_of_the_times) {
  auto o = options();
  o.timezone = "Europe/Berlin";
  const auto all = jobs_of("@daily a\nCRON_TZ=Asia/Tokyo\n@daily b\nCRON_TZ=\n@daily c", o);
  EXPECT_EQ(all[0]["timezone"], "Europe/Berlin");
  EXPECT_EQ(all[0]["trigger"]["dst"], "cronie");
  EXPECT_EQ(all[1]["timezone"], "Asia/Tokyo");
  EXPECT_FALSE(all[1]["trigger"].contains("dst"));
  EXPECT_EQ(all[2]["timezone"], "Europe/Berlin");
  const auto tz = one("TZ=Asia/Tokyo\n@daily a");
  EXPECT_FALSE(tz.contains("timezone"));
  EXPECT_EQ(tz["action"]["env"]["TZ"], "Asia/Tokyo");
  EXPECT_EQ(refused("CRON_TZ=Mars/Phobos\n").substr(0, 11), "1: CRON_TZ:");
}

TEST(crontab_file, a_random_delay_is_the_jitter) {
  EXPECT_EQ(one("RANDOM_DELAY=45\n@daily x")["jitter"], 2700);
  EXPECT_FALSE(one("RANDOM_DELAY=0\n@daily x").contains("jitter"));
  EXPECT_EQ(refused("RANDOM_DELAY=soon\n").substr(0, 16), "1: RANDOM_DELAY:");
}

TEST(crontab_file, percent_begins_the_input) {
  const auto j = one("@daily mail -s \"100\\% \\\\n\" bob%Dear Bob,%%up 5\\%%");
  EXPECT_EQ(j["action"]["shell"], "mail -s \"100% \\\\n\" bob");
  EXPECT_EQ(j["action"]["stdin"], "Dear Bob,\n\nup 5%\n");
  EXPECT_FALSE(one("@daily date +\\%F")["action"].contains("stdin"));
  EXPECT_EQ(one("@daily date +\\%F")["action"]["shell"], "date +%F");
  EXPECT_EQ(warnings("@daily date +%F\n"), std::vector<std::string>{"1: command"});
  EXPECT_EQ(one("@daily cat%last")["action"]["stdin"], "last\n");
  EXPECT_EQ(refused("@daily %x").substr(0, 11), "1: command:");
}

TEST(crontab_file, comments_right_above_describe) {
  const auto all =
      jobs_of("# Far away\n\n# Backs up\n#   all of it\n@daily a\n@daily b\n"
              "# of the variable\nA=1\n@daily c\n# switched off\n#0 5 * * 1 old\n"
              "@daily d\n# m h  dom mon dow   command\n@daily e\n# * a list\n@daily f");
  EXPECT_EQ(all[0]["name"], "Backs up");
  EXPECT_EQ(all[0]["tags"]["description"], "Backs up\nall of it");
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_FALSE(all[i]["tags"].contains("description")) << i;
  EXPECT_EQ(all[1]["name"], "b");
  EXPECT_EQ(all[5]["tags"]["description"], "* a list");
}

TEST(crontab_file, names_of_times) {
  for (const auto* name :
       {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
    EXPECT_EQ(one(std::string(name) + "\tx")["trigger"]["expr"], name);
  const auto j = one("@reboot x");
  EXPECT_EQ(j["run_on_start"], true);
  EXPECT_EQ(warnings("@reboot x\n"), std::vector<std::string>{"1: times"});
  EXPECT_TRUE(read_crontab("@reboot x", options()).entries[0].job.trigger.at_start());
  EXPECT_EQ(refused("@fortnightly x").substr(0, 20), "1: times: column 1: ");
}

TEST(crontab_file, a_dash_keeps_cron_from_logging) {
  const auto j = one("-*/5 * * * * x");
  EXPECT_EQ(j["tags"]["nolog"], "true");
  EXPECT_EQ(j["trigger"]["expr"], "*/5 * * * *");
}

TEST(crontab_file, random_values_stay) {
  const auto a = read_crontab("0~59 3 * * * x\n", options());
  const auto b = read_crontab("# moved\n\n0~59 3 * * * x\n", options());
  ASSERT_EQ(a.entries.size(), 1u);
  EXPECT_EQ(a.entries[0].job.trigger, b.entries[0].job.trigger);
}

TEST(crontab_file, what_is_wrong_is_named_with_line_and_column) {
  EXPECT_EQ(refused("\n 61 * * * * x").substr(0, 20), "2: minute: column 2:");
  EXPECT_EQ(refused("*  24 * * * x").substr(0, 18), "1: hour: column 4:");
  EXPECT_EQ(refused("0 5 * * backup.sh").substr(0, 26), "1: day_of_week: column 9: ");
  EXPECT_EQ(refused("0 5 * * 1").substr(0, 22), "1: command: column 10:");
  EXPECT_EQ(refused("0 5 *").substr(0, 19), "1: times: column 6:");
  EXPECT_EQ(refused("hello").substr(0, 9), "1: times:");
  EXPECT_EQ(refused("=x").substr(0, 12), "1: variable:");
  EXPECT_EQ(refused("0 5 * * 1 root", system_form()).substr(0, 11), "1: command:");
  EXPECT_EQ(refused("0 5 * * 1 /bin/true x", system_form()).substr(0, 8), "1: user:");
  EXPECT_EQ(refused(std::string_view("@daily a\n@daily b\0c\n", 20)),
            "2: line: column 9: a NUL byte");
  EXPECT_EQ(refused("@daily caf\xe9").substr(0, 19), "1: line: column 11:");
  const auto several = read_crontab("x\n@daily ok\n61 * * * * y\n", options());
  EXPECT_EQ(several.errors.size(), 2u) << "every bad line is told";
}

TEST(crontab_file, line_ends_of_every_kind) {
  const auto all = jobs_of("\xef\xbb\xbf"
                           "A=1\r\n@daily a\r\n\r\n@daily b");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["action"]["shell"], "a");
  EXPECT_EQ(all[0]["action"]["env"]["A"], "1");
  EXPECT_EQ(warnings("@daily a\r\n@daily b\r\n@daily c"),
            (std::vector<std::string>{"1: line", "3: line"}));
  EXPECT_TRUE(jobs_of("").empty());
  EXPECT_TRUE(jobs_of("\n# nothing\n").empty());
  EXPECT_TRUE(warnings("@daily a\n").empty());
}

TEST(crontab_file, long_lines) {
  const std::string fits(100'000, 'x');
  EXPECT_EQ(one("@daily echo " + fits)["action"]["shell"], "echo " + fits);
  EXPECT_EQ(refused("@daily " + std::string(200'000, 'x')).substr(0, 11), "1: command:");
  EXPECT_EQ(refused("A=" + std::string(200'000, 'x')).substr(0, 5), "1: A:");
  EXPECT_EQ(one("# " + std::string(1'000'000, 'c') + "\n@daily x")["tags"]["description"]
                .get<std::string>()
                .size(),
            4000u);
}

TEST(crontab_file, ids_are_readable_unique_and_stay) {
  std::string text;
  for (int i = 0; i < 10'000; ++i)
    text += std::to_string(i % 60) + " * * * * /opt/jobs/run.sh " + std::to_string(i / 2) + "\n";
  const auto file = read_crontab(text, options());
  ASSERT_EQ(file.entries.size(), 10'000u);
  std::set<std::string> ids;
  for (const auto& e : file.entries)
    ids.insert(e.job.id);
  EXPECT_EQ(ids.size(), 10'000u);
  EXPECT_TRUE(file.entries[0].job.id.starts_with("run.sh-0-")) << file.entries[0].job.id;
  EXPECT_EQ(file.entries[1].job.id, file.entries[0].job.id + "-2");
  EXPECT_EQ(file.entries[9999].line, 10'000u);
  const auto moved = read_crontab("A=1\n5 5 * * * /opt/jobs/run.sh 0\n", options());
  EXPECT_EQ(moved.entries[0].job.id, file.entries[0].job.id);
  auto other = options();
  other.user = "bob";
  other.id_prefix = "bob.";
  const auto theirs = read_crontab("5 5 * * * /opt/jobs/run.sh 0\n", other);
  EXPECT_TRUE(theirs.entries[0].job.id.starts_with("bob.run.sh-0-"));
  EXPECT_EQ(json::parse(theirs.entries[0].json)["action"]["user"], "bob");
}

TEST(crontab_file, ids_hold_no_secrets) {
  const auto id = one("@daily PGPASSWORD=hunter2 curl -phunter2 'https://me:hunter2@h.example/a?k="
                      "hunter2' me:hunter2 >/dev/null 2>&1")["id"]
                      .get<std::string>();
  EXPECT_EQ(id.find("hunter2"), std::string::npos) << id;
  EXPECT_TRUE(id.starts_with("curl-h.example-me-")) << id;
}

TEST(crontab_file, a_system_crontab_read_as_a_users_is_noticed) {
  EXPECT_EQ(warnings("0 5 * * * root x\n"), std::vector<std::string>{"1: command"});
}

} // namespace
} // namespace lycosa::jobs
