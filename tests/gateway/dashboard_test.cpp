#include "gateway/content_encoding.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lycosa::gateway {
namespace {

using nlohmann::json;

/// What the dashboard is made of: its files, and the list of projects it asks for.
struct dashboard_front : testing::Test {
  void SetUp() override {
    server_config config;
    config.port = 0;
    config.threads = 1;
    auto made = server::start(config, node);
    ASSERT_TRUE(made) << made.error().text();
    front = std::move(*made);
  }
  http_answer call(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view headers = {}) {
    return http_client(front->port()).call(method, target, body, headers);
  }

  fake_node node;
  std::unique_ptr<server> front;
};

TEST_F(dashboard_front, lists_the_members_of_projects_that_are_asked_for) {
  ASSERT_EQ(call("PUT", "/v1/projects/a", R"({"rate":2,"script":"long"})").status, 201);
  ASSERT_EQ(call("PUT", "/v1/projects/b").status, 201);
  ASSERT_EQ(call("PUT", "/v1/projects/c").status, 201);
  const auto whole = json::parse(call("GET", "/v1/projects").body);
  ASSERT_EQ(whole["projects"].size(), 3u);
  EXPECT_EQ(whole["projects"][0]["script"], "long");
  EXPECT_FALSE(whole["projects"][0].contains("handled"));
  EXPECT_FALSE(whole.contains("totals"));

  const auto some = json::parse(
      call("GET", "/v1/projects?fields=rate,counters.1h,handled&names=c,,nobody,a").body);
  ASSERT_EQ(some["projects"].size(), 2u) << some.dump();
  EXPECT_EQ(some["projects"][0]["name"], "c");
  const auto& a = some["projects"][1];
  EXPECT_EQ(a["name"], "a");
  EXPECT_EQ(a["rate"], 2);
  EXPECT_EQ(a["counters"], json::parse(R"({"1h":{"pending":0,"success":0,"retry":0,"failed":0}})"));
  EXPECT_EQ(a["handled"]["counts"].size(), 30u);
  EXPECT_EQ(a["handled"]["step"], 10);
  EXPECT_EQ(a.size(), 4u) << a.dump();

  const auto sums = json::parse(call("GET", "/v1/projects?fields=name&totals=true").body);
  EXPECT_EQ(sums["totals"]["projects"], 3);
  EXPECT_EQ(sums["totals"]["ready"], 9);
  EXPECT_EQ(sums["projects"][2], json::parse(R"({"name":"c"})"));

  EXPECT_EQ(json::parse(call("GET", "/v1/projects?names=").body)["projects"].size(), 0u);
  node.down = "b"; // it is there: an answer without it would say that it is not
  EXPECT_EQ(call("GET", "/v1/projects?names=a,b").status, 503);
  const auto wrong = call("GET", "/v1/projects?fields=rate,colour");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("counters.5m"), std::string::npos) << wrong.body;
}

TEST_F(dashboard_front, the_dashboard_is_packed_cached_and_told_what_it_may_do) {
  const auto page = call("GET", "/");
  ASSERT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("Content-Type: text/html"), std::string::npos);
  EXPECT_NE(page.body.find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(page.head.find("Content-Encoding"), std::string::npos);
  for (const auto* header :
       {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
        "Cache-Control: no-cache", "Vary: Accept-Encoding", "require-trusted-types-for 'script'"})
    EXPECT_NE(page.head.find(header), std::string::npos) << header;
  EXPECT_EQ(page.head.find("unsafe"), std::string::npos) << page.head;
  EXPECT_EQ(page.body.find("<script>"), std::string::npos);
  EXPECT_EQ(page.body.find(" style="), std::string::npos);

  const auto packed = call("GET", "/assets/app.js", {}, "Accept-Encoding: br, gzip;q=0.5\r\n");
  EXPECT_NE(packed.head.find("Content-Encoding: gzip"), std::string::npos);
  EXPECT_NE(packed.head.find("Content-Type: text/javascript"), std::string::npos);
  budget_share unlimited;
  const auto plain = call("GET", "/assets/app.js", {}, "Accept-Encoding: gzip;q=0, br\r\n");
  EXPECT_EQ(plain.head.find("Content-Encoding"), std::string::npos);
  EXPECT_EQ(decode_body("gzip", packed.body, 1 << 20, unlimited), plain.body);

  const auto at = page.head.find("ETag: ") + 6;
  const auto etag = page.head.substr(at, page.head.find("\r\n", at) - at);
  const auto same = call("GET", "/", {}, "If-None-Match: \"x\", W/" + etag + "\r\n");
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_NE(same.head.find(etag), std::string::npos);
  EXPECT_EQ(call("GET", "/", {}, "If-None-Match: \"x\"\r\n").status, 200);
  EXPECT_EQ(call("HEAD", "/assets/app.css").status, 200);
  for (const auto* other : {"/assets/nothing.js", "/assets/..%2fapp.js", "/assets/"})
    EXPECT_EQ(call("GET", other).status, 404) << other;
}

} // namespace
} // namespace lycosa::gateway
