#include "conf/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace lycosa;
using namespace lycosa::conf;
using namespace std::chrono_literals;
using testing::HasSubstr;

namespace {

/// Settings in a file of its own, removed with the test.
class load_test : public testing::Test {
protected:
  load_test() {
    auto pattern = (std::filesystem::temp_directory_path() / "lycosa-conf-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    file_ = dir_ / "a.toml";
  }
  ~load_test() override { std::filesystem::remove_all(dir_); }

  load_request request(std::string text = "") {
    std::ofstream{file_} << text;
    load_request r;
    r.file = file_.string();
    return r;
  }

  /// Loads what must be right.
  static loaded good(const load_request& r) {
    auto out = load(r);
    if (!out) {
      ADD_FAILURE() << out.error().front().text();
      return {};
    }
    return *out;
  }

  /// The problems as text with the file's name cut to "a.toml".
  std::vector<std::string> bad(const load_request& r) {
    auto out = load(r);
    std::vector<std::string> texts;
    if (out) {
      ADD_FAILURE() << "loaded, but must not";
      return {""};
    }
    for (const auto& p : out.error()) {
      auto text = p.text();
      auto at = text.find(file_.string());
      if (at != std::string::npos) text.replace(at, file_.string().size(), "a.toml");
      texts.push_back(text);
    }
    return texts;
  }

  std::filesystem::path dir_;
  std::filesystem::path file_;
};

} // namespace

TEST_F(load_test, an_empty_file_leaves_every_default) {
  auto c = good(request());
  EXPECT_EQ(c.values.http.listen, "127.0.0.1:8040");
  EXPECT_EQ(c.values.scheduler.processing_timeout, 10min);
  EXPECT_EQ(c.source_of("http.listen"), "default");
}

TEST_F(load_test, set_beats_environment_beats_file_beats_default) {
  auto r = request("[scheduler]\ninqueue_limit = 1\nexception_limit = 1\ndelete_time = 1\n");
  r.environment = {{"LYCOSA_SCHEDULER__INQUEUE_LIMIT", "2"},
                   {"LYCOSA_SCHEDULER__EXCEPTION_LIMIT", "2"}};
  r.sets = {"scheduler.inqueue_limit=3"};
  auto c = good(r);
  EXPECT_EQ(c.values.scheduler.inqueue_limit, 3u);
  EXPECT_EQ(c.values.scheduler.exception_limit, 2u);
  EXPECT_EQ(c.values.scheduler.delete_time, 1s);
  EXPECT_EQ(c.values.scheduler.unpause_check_num, 3u);
  EXPECT_EQ(c.source_of("scheduler.inqueue_limit"), "--set");
  EXPECT_EQ(c.source_of("scheduler.exception_limit"), "LYCOSA_SCHEDULER__EXCEPTION_LIMIT");
  EXPECT_EQ(c.source_of("scheduler.delete_time"), file_.string() + ":4");
}

TEST_F(load_test, other_variables_of_the_environment_are_passed_over) {
  auto r = request();
  r.environment = {{"LYCOSA_SERVER", "http://x"}, {"PATH", "/bin"}, {"HTTP__LISTEN", "x"}};
  EXPECT_EQ(good(r).values.http.listen, "127.0.0.1:8040");
}

TEST_F(load_test, the_retry_table_is_replaced_as_a_whole) {
  auto r = request();
  r.sets = {R"(scheduler.default_retry_delay={"" = 5})"};
  auto policy = good(r).values.scheduler.default_retry_delay;
  EXPECT_TRUE(policy.table.empty());
  EXPECT_EQ(policy.otherwise, 5s);

  policy = good(request("[scheduler.default_retry_delay]\n0 = 30\n1 = \"1h\"\n"))
               .values.scheduler.default_retry_delay;
  EXPECT_EQ(policy.table, (std::map<int, usec>{{0, 30s}, {1, 1h}}));
  EXPECT_EQ(policy.otherwise, 24h);
}

TEST_F(load_test, executors_of_jobs_are_a_table_and_the_default_is_always_there) {
  auto c = good(request("[jobs]\nhistory_count = 5\nhistory_age = \"2d\"\n"
                        "[jobs.executors]\nheavy = { concurrency = 2 }\n"));
  EXPECT_EQ(c.values.jobs.history_count, 5u);
  EXPECT_EQ(c.values.jobs.history_age, 48h);
  EXPECT_EQ(c.values.jobs.executors, (executor_map{{"default", {10, 10'000}},
                                                   {"heavy", {2, 10'000}},
                                                   {"tasks", {10'000, 1'000'000}}}));
  const auto refused = [&](const std::string& table) {
    auto r = request();
    r.sets = {"jobs.executors=" + table};
    return bad(r)[0];
  };
  EXPECT_THAT(refused("{ a = { concurrency = 0 } }"), HasSubstr("a.concurrency: must be 1"));
  EXPECT_THAT(refused("{ a = { speed = 1 } }"), HasSubstr("a.speed: an executor has"));
  EXPECT_THAT(refused("{ a = 3 }"), HasSubstr("jobs.executors: "));
  EXPECT_THAT(refused("[1]"), HasSubstr("jobs.executors: "));
}

TEST_F(load_test, webhooks_are_tables_by_name) {
  auto c = good(request("[events]\nbuffer = 5\nbuffer_size = \"1MiB\"\n"
                        "webhooks = { ops = \"https://example.org/\" }\n"
                        "webhook_types = { ops = \"job_error\" }\n"));
  EXPECT_EQ(c.values.events.buffer, 5u);
  EXPECT_EQ(c.values.events.buffer_size.count, 1U << 20U);
  EXPECT_EQ(c.values.events.webhooks.at("ops"), "https://example.org/");
  EXPECT_EQ(c.values.events.webhook_types.at("ops"), "job_error");
  EXPECT_THAT(bad(request("[events]\nbuffer = 0\n"))[0], HasSubstr("events.buffer: "));
}

TEST_F(load_test, a_value_that_is_not_toml_is_taken_as_text) {
  auto r = request();
  r.sets = {"node.name=east-1", "node.data=/var/lib/ly cosa", "storage.commit_interval=5ms"};
  auto c = good(r);
  EXPECT_EQ(c.values.node.name, "east-1");
  EXPECT_EQ(c.values.node.data, "/var/lib/ly cosa");
  EXPECT_EQ(c.values.storage.commit_interval, 5ms);
}

TEST_F(load_test, a_text_key_takes_text_that_looks_like_a_number) {
  auto r = request();
  r.sets = {"node.name=42", "node.data=1\nname=3"};
  auto c = good(r);
  EXPECT_EQ(c.values.node.name, "42");
  EXPECT_EQ(c.values.node.data, "1\nname=3");
}

TEST_F(load_test, an_unknown_key_is_an_error_that_names_the_nearest_one) {
  EXPECT_THAT(
      bad(request("[http]\nlistne = \"x\"\n")),
      testing::ElementsAre("a.toml:2: http.listne: unknown key; did you mean http.listen?"));
  EXPECT_THAT(bad(request("[http]\nshards = 4\n"))[0], HasSubstr("did you mean storage.shards?"));
  EXPECT_THAT(bad(request("[htpp]\nlisten = \"x\"\n"))[0], HasSubstr("did you mean http?"));
  EXPECT_THAT(bad(request("listen = \"x\"\n"))[0], HasSubstr("did you mean http.listen?"));
  auto r = request();
  r.environment = {{"LYCOSA_HTTP__LISTN", "x"}};
  EXPECT_THAT(bad(r),
              testing::ElementsAre(
                  "LYCOSA_HTTP__LISTN: http.listn: unknown key; did you mean http.listen?"));
  r = request();
  r.sets = {"http.zzzzzzzzzzzzzz=1"};
  EXPECT_THAT(bad(r), testing::ElementsAre("--set: http.zzzzzzzzzzzzzz: unknown key"));
}

TEST_F(load_test, all_problems_are_told_at_once_in_the_order_of_the_file) {
  EXPECT_THAT(
      bad(request("[storage]\nshards = 2000\n[http]\nlisten = 8040\nmax_body = \"64MB\"\n")),
      testing::ElementsAre(
          "a.toml:2: storage.shards: must be 0 to 1024",
          "a.toml:4: http.listen: expected a text, got a whole number",
          "a.toml:5: http.max_body: '64MB' is no size; write 100B, 64KiB, 64MiB, 1GiB, 1TiB "
          "or a number of bytes"));
}

TEST_F(load_test, wrong_types_and_values_are_told_in_words) {
  struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"[storage]\ndurability = \"maybe\"", "'maybe' is not one of \"sync\" or \"async\""},
      {"[storage]\nshards = -1", "must be 0 to 1024"},
      {"[storage]\nshards = 1.5", "expected a whole number"},
      {"[scheduler]\nprocessing_timeout = \"soon\"", "'soon' is no duration"},
      {"[scheduler]\nprocessing_timeout = -1", "cannot be negative"},
      {"[scheduler]\ndefault_retry_delay = {\"x\" = 1}", "'x' is neither"},
      {"[scheduler]\ndefault_retry_delay = 5", "expected a table"},
      {"[http]\nlisten = \"8040\"", "the port is missing"},
      {"[log]\nlevels = {http = \"loud\"}", "'loud' is not one of"},
      {"[cluster]\nmode = \"ring\"", "'ring' is not one of \"single\""},
      {"[node]\ndata = \"\"\n[cluster]\nmode = \"etcd\"", "node.data"},
      {"[node]\ndata = \"d\"\n[cluster]\nmode = \"etcd\"\netcd = []", "cluster.etcd"},
      {"[node]\ndata = \"d\"\n[cluster]\nmode = \"etcd\"\nname = \"a b\"", "cluster.name"},
      {"[cluster]\nmin_in_sync = 4", "cluster.min_in_sync"},
      {"[cluster]\nsession = \"2500ms\"", "whole seconds"},
      {"[cluster]\ntls_cert = \"x.pem\"", "cluster.tls_key"},
      {"[xmlrpc]\nenabled = 1", "expected true or false"},
      {"[caf]\nx = [1]", "expected a text, a number"},
      {"[http]\nmax_body = \"1KiB\"", "larger than http.max_body"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(bad(request(c.text))[0], HasSubstr(c.reason)) << c.text;
}

TEST_F(load_test, text_that_is_no_toml_names_the_line) {
  EXPECT_THAT(bad(request("[node]\nname = \"a\n"))[0], testing::StartsWith("a.toml:2: "));
}

TEST_F(load_test, a_file_that_was_named_must_exist) {
  load_request r;
  r.file = (dir_ / "none.toml").string();
  EXPECT_THAT(bad(r)[0], HasSubstr("none.toml: No such file or directory"));
}

TEST_F(load_test, a_key_that_would_give_false_safety_is_refused) {
  EXPECT_THAT(bad(request("[auth]\ntokens = [\"secret\"]\n"))[0],
              HasSubstr("auth.tokens: cannot be used in this version"));
  EXPECT_THAT(bad(request("[http]\ntls_cert = \"a.pem\"\n"))[0],
              HasSubstr("http.tls_cert: needs http.tls_key too"));
}

TEST_F(load_test, a_reserved_key_is_accepted_with_a_warning) {
  auto c = good(request("[scheduler]\nloop_interval = 1\n[caf]\nscheduler.max-threads = 2\n"));
  ASSERT_EQ(c.warnings.size(), 2u);
  EXPECT_THAT(c.warnings[0].text(),
              HasSubstr("scheduler.loop_interval: has no effect in this version"));
  EXPECT_EQ(std::get<std::int64_t>(c.values.caf.at("scheduler.max-threads")), 2);
}

TEST_F(load_test, a_malformed_set_is_told) {
  auto r = request();
  r.sets = {"nonsense", "http=1"};
  EXPECT_EQ(bad(r).size(), 2u);
}
