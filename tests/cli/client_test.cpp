#include "tests/cli/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace lycosa::cli;
using namespace lycosa::cli::testing;
using nlohmann::json;
using ::testing::HasSubstr;

namespace {

std::string counts(std::size_t created) {
  return json{{"new", created},
              {"restarted", 0},
              {"ignored", 0},
              {"cancelled", 0},
              {"rejected", json::array()}}
      .dump();
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST(submit, sends_lines_in_batches_and_sums_the_answers_up) {
  fake_node node{[](const request& r) { return response{200, counts(lines_of(r.body))}; }};
  std::string input;
  for (int i = 0; i < 2500; ++i)
    input += R"({"project":"p","taskid":")" + std::to_string(i) + "\"}\n";
  auto r = run_cli({"task", "submit", "-", "--server", node.url()}, input);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("2,500 new"));
  auto requests = node.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(lines_of(requests[0].body), 1000u);
  EXPECT_EQ(lines_of(requests[2].body), 500u);
}

TEST(submit, keeps_the_text_of_a_task_and_only_adds_the_project) {
  fake_node node{[](const request&) { return response{200, counts(2)}; }};
  auto r = run_cli({"task", "submit", "-", "--project", "docs", "--server", node.url()},
                   "{\"url\":\"u\",  \"fetch\":{\"n\":1.50e3}}\n\n{\"project\":\"x\"}\n");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(node.requests().at(0).body,
            "{\"project\":\"docs\",\"url\":\"u\",  \"fetch\":{\"n\":1.50e3}}\n"
            "{\"project\":\"x\"}\n");
}

TEST(submit, tells_rejected_lines_by_their_number_in_the_file) {
  fake_node node{[](const request&) {
    auto answer = json::parse(counts(1));
    answer["rejected"] = {{{"index", 1}, {"taskid", "b"}, {"error", "url: is missing"}}};
    return response{200, answer.dump()};
  }};
  auto r = run_cli({"task", "submit", "-", "--server", node.url()},
                   "{\"taskid\":\"a\"}\nnot json\n\n[1]\n{\"taskid\":\"b\"}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "lycosa: stdin:2: is not JSON\n"
                   "lycosa: stdin:4: is not a JSON object\n"
                   "lycosa: stdin:5: b: url: is missing\n");
  EXPECT_THAT(r.out, HasSubstr("1 new, 0 restarted, 0 ignored, 0 cancelled, 3 rejected"));
}

TEST(submit, waits_and_repeats_while_the_server_is_busy) {
  int calls = 0;
  fake_node node{[&](const request&) {
    return ++calls < 3 ? response{429, "{}", "Retry-After: 0\r\n"} : response{200, counts(1)};
  }};
  auto r = run_cli({"task", "submit", "-", "--json", "--server", node.url()}, "{}\n");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(json::parse(r.out)["new"], 1);
  EXPECT_EQ(node.requests().size(), 3u);
}

TEST(submit, a_missing_file_is_invalid_input) {
  auto r = run_cli({"task", "submit", "/nonexistent.ndjson"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "lycosa: /nonexistent.ndjson: No such file or directory\n");
}

TEST(requeue, goes_through_all_pages_and_keeps_the_schedule) {
  fake_node node{[](const request& r) {
    if (r.method == "POST") return response{200, counts(json::parse(r.body).size())};
    auto second = r.target.find("after=c1") != std::string::npos;
    json task{{"taskid", second ? "b" : "a"},
              {"url", "u"},
              {"status", 3},
              {"schedule", {{"priority", 7}, {"retried", 3}, {"itag", "v1"}}},
              {"fetch", {{"big", "body"}}}};
    json answer{{"tasks", {task}}};
    answer["next"] = second ? json(nullptr) : json("c1");
    return response{200, answer.dump()};
  }};
  auto r = run_cli({"task", "requeue", "p", "--server", node.url()});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("2 new"));
  auto requests = node.requests();
  EXPECT_THAT(requests.at(0).target, HasSubstr("status=failed"));
  EXPECT_EQ(json::parse(requests.back().body)[1],
            (json{{"project", "p"},
                  {"taskid", "b"},
                  {"url", "u"},
                  {"schedule", {{"priority", 7}, {"itag", "v1"}, {"force_update", true}}}}));
}

TEST(requeue, a_dry_run_changes_nothing) {
  fake_node node{[](const request&) {
    return response{200, R"({"tasks":[{"taskid":"a","url":"u"}],"next":null})"};
  }};
  auto r = run_cli({"task", "requeue", "p", "--dry-run", "--server", node.url()});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "1 tasks would be queued again\n");
  for (const auto& q : node.requests())
    EXPECT_EQ(q.method, "GET");
}

TEST(problem_documents, become_one_line_with_the_right_exit_code) {
  response answer;
  fake_node node{[&](const request&) { return answer; }};
  auto put = [&] {
    return run_cli({"project", "put", "p", "--rate", "1", "--server", node.url()});
  };
  answer = {404, R"({"title":"Not Found","detail":"no such project"})"};
  auto r = put();
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "lycosa: PUT /v1/projects/p: no such project\n");
  answer = {400, R"({"title":"Bad Request","errors":[{"field":"rate","reason":"must be >= 0"}]})"};
  r = put();
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "lycosa: PUT /v1/projects/p: Bad Request; rate: must be >= 0\n");
  answer = {507, "no JSON"};
  r = put();
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "lycosa: PUT /v1/projects/p: HTTP status 507\n");
}

TEST(project, put_takes_durations_as_the_settings_do) {
  fake_node node{[](const request&) { return response{200, "{}"}; }};
  const auto put = [&](const char* option, const char* text) {
    return run_cli({"project", "put", "p", option, text, "--server", node.url()});
  };
  EXPECT_EQ(put("--retain-age", "1d").code, 0);
  EXPECT_EQ(json::parse(node.requests().back().body), (json{{"retain_age", 86400}}));
  EXPECT_EQ(put("--retain-age", "1.5").code, 0);
  EXPECT_EQ(json::parse(node.requests().back().body), (json{{"retain_age", 1.5}}));
  EXPECT_EQ(put("--min-tick", "1.5m").code, 0);
  EXPECT_EQ(json::parse(node.requests().back().body), (json{{"min_tick", 90}}));
  auto r = put("--retain-age", "1 fortnight");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "lycosa: --retain-age: '1 fortnight' is no duration; write 250ms, 5s, 10m, 24h, "
                   "7d or a number of seconds\n");
  r = put("--retain-age", "0.1us");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "lycosa: --retain-age: must be 0 or at least 1us\n");
  EXPECT_EQ(put("--retain-age", "-5").code, 2);
}

TEST(project, put_sends_only_what_is_named) {
  fake_node node{[](const request&) { return response{201, R"({"name":"p"})"}; }};
  auto r = run_cli({"project", "put", "p", "--status", "RUNNING", "--rate", "0.5", "--retry-delay",
                    R"({"":5})", "--server", node.url()});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(json::parse(node.requests().at(0).body),
            (json{{"status", "RUNNING"}, {"rate", 0.5}, {"retry_delay", {{"", 5}}}}));
}

TEST(project, pause_of_an_unknown_project_makes_none) {
  fake_node node{[](const request&) { return response{404, R"({"detail":"no such project"})"}; }};
  EXPECT_EQ(run_cli({"project", "pause", "nobody", "--server", node.url()}).code, 1);
  for (const auto& q : node.requests())
    EXPECT_EQ(q.method, "GET");
}

TEST(project, rm_needs_a_yes_when_nobody_can_be_asked) {
  fake_node node{[](const request&) { return response{200, "{}"}; }};
  EXPECT_EQ(run_cli({"project", "rm", "p", "--server", node.url()}).code, 2);
  EXPECT_TRUE(node.requests().empty());
  EXPECT_EQ(run_cli({"project", "rm", "p", "--yes", "--server", node.url()}).code, 0);
  EXPECT_EQ(node.requests().at(0).target, "/v1/projects/p?confirm=p");
}

TEST(project, ls_prints_an_aligned_table) {
  fake_node node{[](const request&) {
    return response{200, R"([{"name":"a","status":"RUNNING","rate":1.5,"burst":10,"ready":1234567,
                             "delayed":0,"on_disk":99,"processing":2,"paused":false,"group":""},
                            {"name":"long-name","status":"STOP"}])"};
  }};
  auto r = run_cli({"project", "ls", "--server", node.url()});
  EXPECT_EQ(
      r.out,
      "NAME       STATUS   GROUP  RATE  BURST      READY  DELAYED  ON DISK  PROCESSING  PAUSED\n"
      "a          RUNNING  -       1.5     10  1,234,567        0       99           2  no\n"
      "long-name  STOP     -         -      -          -        -        -           -  -\n");
}

TEST(task, show_cannot_be_made_to_steer_the_terminal) {
  fake_node node{[](const request&) {
    return response{200, R"({"taskid":"a","url":"x\u001b[2Jy","status":3})"};
  }};
  auto r = run_cli({"task", "show", "p", "a/b c", "--server", node.url()});
  EXPECT_EQ(node.requests().at(0).target, "/v1/projects/p/tasks/a%2Fb%20c");
  EXPECT_THAT(r.out, HasSubstr("x\\x1b[2Jy"));
  EXPECT_THAT(r.out, HasSubstr("FAILED"));
}

TEST(task, ls_json_is_one_document_over_all_pages) {
  fake_node node{[](const request& r) {
    auto second = r.target.find("after=") != std::string::npos;
    return response{200, second ? R"({"tasks":[{"taskid":"b"}],"next":null})"
                                : R"({"tasks":[{"taskid":"a"}],"next":"c"})"};
  }};
  auto r = run_cli({"task", "ls", "p", "--limit", "0", "--json", "--server", node.url()});
  EXPECT_EQ(json::parse(r.out)["tasks"].size(), 2u);
}

TEST(task, cancel_of_a_settled_task_says_why_not) {
  fake_node node{[](const request& r) {
    return r.method == "GET"
               ? response{200, R"({"taskid":"a","url":"u","status":2})"}
               : response{200,
                          R"({"new":0,"restarted":0,"ignored":1,"cancelled":0,"rejected":[]})"};
  }};
  auto r = run_cli({"task", "cancel", "p", "a", "--server", node.url()});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "lycosa: a: is not queued (status SUCCESS)\n");
}

TEST(client, an_unreachable_server_is_exit_3) {
  std::string url;
  {
    fake_node gone{[](const request&) { return response{}; }};
    url = gone.url();
  }
  auto r = run_cli({"project", "ls", "--server", url});
  EXPECT_EQ(r.code, 3);
  EXPECT_THAT(r.err, ::testing::MatchesRegex("lycosa: http://127.0.0.1:[0-9]+: [^\n]+\n"));
}
