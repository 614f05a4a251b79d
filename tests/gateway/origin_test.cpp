#include "gateway/origin.hpp"
#include "gateway/server.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gtest/gtest.h>

namespace lycosa::gateway {
namespace {

TEST(request_origin, of_another_site_is_told_by_the_browser_or_by_comparison) {
  const auto cross = [](std::string_view host, std::string_view origin, std::string_view site = {},
                        std::string_view method = "POST") {
    return is_cross_site({method, host, origin, site});
  };
  EXPECT_FALSE(cross("node:8040", "")) << "a program";
  EXPECT_FALSE(cross("node:8040", "http://node:8040"));
  EXPECT_FALSE(cross("Node:8040", "http://nODE:8040"));
  EXPECT_FALSE(cross("node", "http://node:80"));
  EXPECT_FALSE(cross("node:443", "https://node"));
  EXPECT_FALSE(cross("[::1]:8040", "http://[::1]:8040"));
  EXPECT_TRUE(cross("node:8040", "http://node"));
  EXPECT_TRUE(cross("node:8040", "http://node:8041"));
  EXPECT_TRUE(cross("node:8040", "http://evil.example"));
  EXPECT_TRUE(cross("node", "https://node:80"));
  EXPECT_TRUE(cross("node:8040", "null"));
  EXPECT_TRUE(cross("", "http://node:8040"));
  // The browser knows better, as behind a proxy that changes Host.
  EXPECT_FALSE(cross("inside:8040", "https://outside", "same-origin"));
  EXPECT_FALSE(cross("node:8040", "", "none"));
  for (const auto* site : {"cross-site", "same-site", "what"})
    EXPECT_TRUE(cross("node:8040", "http://node:8040", site)) << site;
  // What changes nothing is not asked.
  EXPECT_FALSE(cross("node:8040", "http://evil.example", "cross-site", "GET"));
  for (const auto* method : {"PUT", "PATCH", "DELETE"})
    EXPECT_TRUE(cross("node:8040", "http://evil.example", {}, method)) << method;
}

TEST(request_origin, a_page_of_another_site_changes_nothing) {
  fake_node node;
  server_config config;
  config.port = 0;
  auto front = server::start(config, node);
  ASSERT_TRUE(front) << front.error().text();
  const auto call = [&](std::string_view method, std::string_view target,
                        std::string_view headers) {
    return http_client((*front)->port()).call(method, target, "{}", headers).status;
  };
  // What any page may send without asking first: a simple request with a text body.
  EXPECT_EQ(
      call("POST", "/v1/tasks", "Origin: http://evil.example\r\nContent-Type: text/plain\r\n"),
      403u);
  EXPECT_EQ(call("PUT", "/v1/projects/p", "Sec-Fetch-Site: cross-site\r\n"), 403u);
  EXPECT_TRUE(node.projects.empty());
  EXPECT_EQ(call("PUT", "/v1/projects/p", "Origin: http://x\r\n"), 201u) << "its own page";
  EXPECT_EQ(call("PUT", "/v1/projects/p", ""), 200u) << "a program";
}

} // namespace
} // namespace lycosa::gateway
