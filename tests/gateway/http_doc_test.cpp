#include "gateway/router.hpp"
#include "tests/gateway/fake_node.hpp"
#include "tests/gateway/http_client.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace lycosa::gateway {
namespace {

/// The reference, with `{}` for whatever it calls the variable parts of an address.
std::string reference() {
  std::ifstream in(LYCOSA_SOURCE_DIR "/docs/http.md");
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  for (std::size_t at = 0; (at = text.find("/{", at)) != std::string::npos; at += 3)
    if (const auto end = text.find('}', at); end != std::string::npos)
      text.erase(at + 2, end - at - 2);
  return text;
}

/// What stands between back quotes and begins with a method and an address.
std::set<std::string> routes_in(const std::string& text) {
  std::set<std::string> found;
  for (const std::string method : {"GET", "PUT", "POST", "PATCH", "DELETE"})
    for (std::size_t at = 0; (at = text.find("`" + method + " /", at)) != std::string::npos; ++at)
      found.insert(text.substr(at + 1, text.find('`', at + 1) - at - 1));
  return found;
}

TEST(http_reference, has_every_route_and_no_other) {
  std::set<std::string> routes;
  for (const auto& r : all_routes())
    routes.insert(std::string{r.method} + " " + std::string{r.pattern});
  EXPECT_EQ(routes_in(reference()), routes);
}

TEST(http_reference, names_every_member_of_a_project) {
  fake_node node;
  server_config config;
  config.port = 0;
  auto front = server::start(config, node);
  ASSERT_TRUE(front) << front.error().text();
  const auto made = http_client((*front)->port()).call("PUT", "/v1/projects/p", "{}");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto text = reference();
  const auto shown = nlohmann::json::parse(made.body);
  for (const auto& [name, _] : shown.items())
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
}

} // namespace
} // namespace lycosa::gateway
