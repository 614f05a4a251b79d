#include "cli/job_toml.hpp"
#include "tests/cli/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <mutex>

using namespace lycosa::cli::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using plain_json = nlohmann::json;

namespace {

/// A node that keeps jobs as they were sent.
class jobs_node {
public:
  [[nodiscard]] std::string url() const { return node_.url(); }
  [[nodiscard]] std::vector<plain_json> sent() const {
    std::vector<plain_json> out;
    for (const auto& r : node_.requests()) {
      if (r.method != "POST") continue;
      const auto body = plain_json::parse(r.body);
      if (body.is_array())
        out.insert(out.end(), body.begin(), body.end());
      else
        out.push_back(body);
    }
    return out;
  }
  [[nodiscard]] std::size_t posts() const {
    std::size_t n = 0;
    for (const auto& r : node_.requests())
      n += r.method == "POST";
    return n;
  }
  /// Of the jobs sent, as `GET /v1/jobs` shows them.
  void show(const plain_json& job) { there_[job.at("id")] = job; }

private:
  static bool bad(const plain_json& job) { return job.value("id", "").starts_with("bad"); }
  static plain_json taken(plain_json job) {
    job["next_run_time"] = "2026-03-02T05:00:00Z";
    return job;
  }
  static response take_list(plain_json list) {
    auto jobs = plain_json::array();
    auto rejected = plain_json::array();
    for (auto& job : list) {
      if (bad(job)) {
        rejected.push_back({{"index", jobs.size()},
                            {"error", "id: job " + job.value("id", "") + " exists"},
                            {"status", 409}});
        jobs.push_back(nullptr);
      } else {
        jobs.push_back(taken(std::move(job)));
      }
    }
    return {
        200,
        plain_json{{"added", jobs.size() - rejected.size()}, {"rejected", rejected}, {"jobs", jobs}}
            .dump()};
  }
  response answer(const request& r) {
    if (r.method == "POST") {
      auto body = plain_json::parse(r.body);
      if (body.is_array()) return take_list(std::move(body));
      if (bad(body)) return {409, R"({"detail":"id: job bad exists"})"};
      return {201, taken(std::move(body)).dump()};
    }
    auto list = plain_json::array();
    for (const auto& [id, job] : there_)
      list.push_back(job);
    return {200, plain_json{{"jobs", list}, {"next", nullptr}}.dump()};
  }

  std::map<std::string, plain_json> there_;
  fake_node node_{[this](const request& r) { return answer(r); }};
};

ran job(std::vector<std::string> args, const std::string& input = "") {
  args.insert(args.begin(), "job");
  return run_cli(std::move(args), input);
}

} // namespace

TEST(job_add, a_command_behind_two_dashes_is_taken_word_by_word) {
  jobs_node node;
  const auto r = job({"add", "--server", node.url(), "--id", "alive", "--trigger", "*/5 * * * *",
                      "--tz", "Europe/Berlin", "--", "curl", "-fsS", "--id", "a b"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "alive: next run 2026-03-02T05:00:00Z\n");
  const auto sent = node.sent().at(0);
  EXPECT_EQ(sent["action"],
            plain_json::parse(R"({"type":"command","argv":["curl","-fsS","--id","a b"]})"));
  EXPECT_EQ(sent["trigger"]["type"], "crontab");
  EXPECT_EQ(sent["trigger"]["expr"], "*/5 * * * *");
  EXPECT_EQ(sent["timezone"], "Europe/Berlin");
}

TEST(job_add, every_form_of_a_trigger_is_taken) {
  jobs_node node;
  for (const std::string spec :
       {"@daily", "every 90s", "oncalendar: Mon *-*-* 09:00:00", R"({"type":"cron","hour":3})"})
    EXPECT_EQ(job({"add", "--server", node.url(), "--id", "x", "--trigger", spec, "--shell",
                   "echo $HOME", "--replace"})
                  .code,
              0)
        << spec;
  ASSERT_EQ(node.sent().size(), 4u);
  EXPECT_EQ(node.sent()[1]["trigger"]["type"], "interval");
  EXPECT_EQ(node.sent()[2]["trigger"]["type"], "oncalendar");
  EXPECT_EQ(node.sent()[3]["action"]["shell"], "echo $HOME");
  EXPECT_EQ(node.sent()[3]["replace_existing"], true);
}

TEST(job_add, what_is_missing_or_wrong_is_told_before_anything_is_sent) {
  jobs_node node;
  const auto refused = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"add", "--server", node.url()});
    const auto r = job(args, "");
    EXPECT_EQ(r.code, 2) << r.err;
    return r.err;
  };
  EXPECT_THAT(refused({"--id", "x", "--", "true"}), StartsWith("lycosa: --trigger: is missing"));
  EXPECT_THAT(refused({"--trigger", "@daily", "--", "true"}),
              StartsWith("lycosa: --id: is missing"));
  EXPECT_THAT(refused({"--id", "x", "--trigger", "@daily"}), StartsWith("lycosa: command: "));
  EXPECT_THAT(refused({"--id", "x", "--trigger", "61 * * * *", "--", "true"}), HasSubstr("minute"));
  EXPECT_THAT(refused({"--id", "x", "--trigger", "@daily", "--tz", "Mars/Phobos", "--", "true"}),
              HasSubstr("timezone"));
  EXPECT_THAT(refused({"--id", "a/b", "--trigger", "@daily", "--", "true"}), HasSubstr("id"));
  EXPECT_THAT(refused({}), StartsWith("lycosa: usage: "));
  EXPECT_THAT(refused({"a.json", "b.json"}), StartsWith("lycosa: usage: expected one FILE"));
  EXPECT_THAT(refused({"-"}), HasSubstr("holds no job"));
  EXPECT_TRUE(node.sent().empty());
}

TEST(job_add, toml_is_recognised_and_its_errors_have_lines) {
  jobs_node node;
  const auto r = job({"add", "-", "--server", node.url()}, R"(# two jobs
[[job]]
id = "a"
misfire_grace_time = "none"
trigger = { type = "date", run_date = 2199-01-01T00:00:00Z }
action = { type = "command", argv = ["true"] }

[[job]]
id = "b"
trigger = { type = "interval", minutes = 5 }
  [job.action]
  type = "command"
  shell = '''
echo one
echo two
'''
)");
  EXPECT_EQ(r.code, 0) << r.err;
  const auto sent = node.sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(sent[0]["misfire_grace_time"].is_null());
  EXPECT_THAT(sent[0]["trigger"]["run_date"].get<std::string>(), StartsWith("2199-01-01T00:00:00"));
  EXPECT_EQ(sent[1]["action"]["shell"], "echo one\necho two\n");

  const auto refused = [&](const std::string& text) {
    const auto bad = job({"add", "-", "--server", node.url()}, text);
    EXPECT_EQ(bad.code, 2) << bad.err;
    return bad.err;
  };
  EXPECT_THAT(refused("# x\n[[job]]\nid = 'a'\ncolour = 1\n"), StartsWith("lycosa: -:2: colour: "));
  EXPECT_THAT(refused("[[job]]\nid = \n"), StartsWith("lycosa: -:2: "));
  EXPECT_THAT(refused("jobs = 1\n"), StartsWith("lycosa: -:1: jobs: unknown"));
  EXPECT_EQ(node.sent().size(), 2u);
}

namespace {

/// A line a job, each with this many bytes more.
std::string job_lines(std::size_t n, std::size_t padding = 0) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i)
    out += plain_json{{"id", "j" + std::to_string(i)},
                      {"name", std::string(padding, 'x')},
                      {"trigger", {{"type", "crontab"}, {"expr", "@daily"}}},
                      {"action", {{"type", "function"}, {"name", "f"}}}}
               .dump()
           + "\n";
  return out;
}

} // namespace

TEST(job_add, many_jobs_go_in_few_requests_and_are_told_in_their_order) {
  jobs_node node;
  const auto r = job({"add", "-", "--server", node.url()}, job_lines(2500));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(node.posts(), 3u);
  ASSERT_EQ(node.sent().size(), 2500u);
  EXPECT_EQ(node.sent()[2499]["id"], "j2499");
  EXPECT_THAT(r.out, StartsWith("j0: next run 2026-03-02T05:00:00Z\nj1: next run "));
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2500);
  const auto all =
      plain_json::parse(job({"add", "-", "--json", "--server", node.url()}, job_lines(2500)).out);
  ASSERT_EQ(all.size(), 2500u);
  EXPECT_EQ(all[2499]["id"], "j2499");
}

TEST(job_add, large_jobs_go_in_smaller_requests) {
  jobs_node node;
  EXPECT_EQ(job({"add", "-", "--server", node.url()}, job_lines(5, 700'000)).code, 0);
  EXPECT_EQ(node.posts(), 5u);
}

TEST(job_add, what_is_refused_is_named_and_the_others_are_added) {
  jobs_node node;
  auto lines = job_lines(2);
  lines.insert(lines.find('\n') + 1, "{\"id\":\"bad 1\"}\n{\"id\":\"bad 2\"}\n");
  const auto r = job({"add", "-", "--server", node.url()}, lines);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "lycosa: bad 1: id: job bad 1 exists\nlycosa: bad 2: id: job bad 2 exists\n");
  EXPECT_THAT(r.out, StartsWith("j0: next run 2026-03-02T05:00:00Z\nj1: next run "));
  EXPECT_EQ(node.posts(), 1u);
}

TEST(job_add, jobs_that_replace_and_jobs_that_do_not_go_apart) {
  jobs_node node;
  const auto r = job({"add", "-", "--server", node.url()},
                     R"([{"id":"a"},{"id":"b","replace_existing":true},
                         {"id":"c","replace_existing":true},{"id":"d","replace_existing":false}])");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(node.posts(), 3u);
  EXPECT_EQ(node.sent().size(), 4u);
}

TEST(job_export, toml_says_what_json_says) {
  const auto jobs = lycosa::cli::json::parse(R"([
    {"id":"a b","name":"it's \"so\"","trigger":{"type":"or","triggers":[{"type":"crontab",
       "expr":"0 5 * * 1"},{"type":"interval","minutes":90}]},
     "action":{"type":"command","shell":"line 1\nit's 'two'\n","env":{"A":"\u0001\t\u007f","B C":""}},
     "misfire_grace_time":null,"jitter":0.25,"retry_delay":[1.0,2.5],"tags":{"k.x":"v","n\nl":"ü"}},
    {"id":"b","trigger":{"type":"date","run_date":"2199-01-01T00:00:00Z"},
     "action":{"type":"task","task":{"project":"p","url":"u","fetch":{"x":null,
       "n":18446744073709551615}}},"run_on_start":true},
    {"id":"c","trigger":{"type":"crontab","expr":"@daily"},"timeout":5.0,
     "action":{"type":"http","url":"http://h/","body":"'''","headers":{"X-A":"\\"}}}])");
  auto shown = jobs;
  shown[0]["next_run_time"] = "2026-03-02T05:00:00Z";
  shown[0]["finished"] = false;
  shown[0]["timeout"] = nullptr;
  const auto text = lycosa::cli::jobs_to_toml(shown);
  const auto read = lycosa::cli::jobs_from_toml(text, "x.toml");
  ASSERT_TRUE(read) << read.error().why << "\n" << text;
  ASSERT_EQ(read->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(plain_json::parse((*read)[i].job.dump()), plain_json::parse(jobs[i].dump())) << text;
  EXPECT_THAT(text, HasSubstr("[[job]]\nid = \"b\"\n"));
  EXPECT_TRUE(lycosa::cli::looks_like_toml(text));
  EXPECT_FALSE(lycosa::cli::looks_like_toml("[{\"id\":1}]"));
  EXPECT_FALSE(lycosa::cli::looks_like_toml("{}"));
}

TEST(job_export, is_json_unless_asked) {
  jobs_node node;
  node.show(plain_json::parse(R"({"id":"a","trigger":{"type":"crontab","expr":"@daily"},
      "action":{"type":"command","argv":["x"]}})"));
  EXPECT_EQ(plain_json::parse(job({"export", "--server", node.url()}).out)[0]["id"], "a");
  EXPECT_THAT(job({"export", "--format", "toml", "--server", node.url()}).out,
              StartsWith("[[job]]\nid = \"a\"\n"));
  EXPECT_EQ(job({"export", "--format", "xml", "--server", node.url()}).code, 2);
}

TEST(import_crontab, a_dry_run_needs_no_node_and_shows_the_next_times) {
  const auto r = job({"import-crontab", "-", "--dry-run", "--tz", "UTC"},
                     "# Backs up\n0 5 1 1 * /opt/backup --all\n0 0 30 2 * never\n@reboot up\n");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("stdin:2  backup-"));
  EXPECT_THAT(r.out, HasSubstr("  runs     /opt/backup --all\n"));
  std::size_t times = 0;
  for (auto at = r.out.find("-01-01T05:00:00+00:00"); at != std::string::npos;
       at = r.out.find("-01-01T05:00:00+00:00", at + 1))
    ++times;
  EXPECT_EQ(times, 3u) << r.out;
  EXPECT_THAT(r.out, HasSubstr("it never runs"));
  EXPECT_THAT(r.out, HasSubstr("stdin:4  up-"));

  const auto all = plain_json::parse(
      job({"import-crontab", "-", "--dry-run", "--json", "--system", "--tz", "UTC"},
          "0 5 1 1 * bob /opt/backup\n")
          .out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["line"], 1);
  EXPECT_EQ(all[0]["next"].size(), 3u);
  EXPECT_EQ(all[0]["job"]["action"]["user"], "bob");
  EXPECT_EQ(all[0]["job"]["id"], all[0]["id"]);
}

TEST(import_crontab, all_bad_lines_are_told_and_nothing_is_sent) {
  jobs_node node;
  const auto r = job({"import-crontab", "-", "--server", node.url()},
                     "@daily good\n61 * * * * a\n\n* 24 * * * b\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, StartsWith("lycosa: stdin:2: minute: column 1: "));
  EXPECT_THAT(r.err, HasSubstr("\nlycosa: stdin:4: hour: column 3: "));
  EXPECT_TRUE(node.sent().empty());
  EXPECT_EQ(job({"import-crontab", "-", "--tz", "Mars/Phobos", "--dry-run"}).code, 2);
  EXPECT_EQ(job({"import-crontab", "/nonexistent", "--dry-run"}).code, 2);
}

TEST(import_crontab, replacing_leaves_alone_what_has_not_changed_and_what_is_paused) {
  jobs_node node;
  const std::string text = "0 5 * * * same\n0 6 * * * other\n0 7 * * * third\n";
  EXPECT_EQ(job({"import-crontab", "-", "--server", node.url()}, text).code, 0);
  const auto first = node.sent();
  ASSERT_EQ(first.size(), 3u);
  EXPECT_FALSE(first[0].contains("replace_existing"));
  // As a node shows it: whole.
  auto same = plain_json::parse(R"({"executor":"default","max_instances":1,"coalesce":"latest",
      "jitter":0.0,"retries":0,"timeout":null,"run_on_start":false,"rerun_lost":false,
      "keep_finished":true,"paused":true,"pause_reason":"away","next_run_time":null,
      "finished":false})");
  same["misfire_grace_time"] = 60.0;
  auto other = same;
  same.update(first[0]);
  other.update(first[1]);
  other["trigger"]["expr"] = "30 6 * * *";
  node.show(same);
  node.show(other);

  const auto refused = job({"import-crontab", "-", "--server", node.url()}, text);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, StartsWith("lycosa: stdin:1: "));
  EXPECT_EQ(node.sent().size(), 3u);

  const auto r = job({"import-crontab", "-", "--replace", "--server", node.url()}, text);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("\n1 added, 1 replaced, 1 unchanged\n"));
  const auto all = node.sent();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[3]["id"], first[1]["id"]);
  EXPECT_EQ(all[3]["trigger"]["expr"], "0 6 * * *");
  EXPECT_EQ(all[3]["pause_reason"], "away");
  EXPECT_EQ(all[3]["paused"], true);
  EXPECT_EQ(all[4]["id"], first[2]["id"]);
}
