#include "bridges/redis_url.hpp"
#include <gtest/gtest.h>

namespace lycosa::bridges {
namespace {

redis_address parsed(std::string_view url) {
  const auto a = parse_redis_url(url);
  EXPECT_TRUE(a.has_value()) << url << ": " << (a ? "" : a.error().text());
  return a.value_or(redis_address{});
}

TEST(redis_url, names_host_port_database_and_how_to_get_in) {
  EXPECT_EQ(parsed("redis://localhost").port, 6379);
  EXPECT_EQ(parsed("redis://localhost").database, 0U);
  EXPECT_EQ(parsed("redis://10.0.0.1:7000/3").database, 3U);
  EXPECT_EQ(parsed("redis://10.0.0.1:7000/").host, "10.0.0.1");
  EXPECT_EQ(parsed("redis://[::1]:7000/").host, "::1");
  const auto a = parsed("redis://:s%40cret@h:1/2");
  EXPECT_EQ(a.password, "s@cret");
  EXPECT_EQ(a.user, "");
  EXPECT_EQ(parsed("redis://me:pw@h").user, "me");
  EXPECT_TRUE(parsed("rediss://h").tls);
  EXPECT_TRUE(parsed("rediss://h").verify);
  EXPECT_FALSE(parsed("rediss://h?verify=no").verify);
  EXPECT_EQ(parsed("rediss://h/1?ca=/etc/ca.pem").ca_file, "/etc/ca.pem");
  EXPECT_EQ(parsed("unix:///run/redis.sock?db=4").unix_socket, "/run/redis.sock");
  EXPECT_EQ(parsed("unix:///run/redis.sock?db=4").database, 4U);
}

TEST(redis_url, never_shows_the_password) {
  EXPECT_EQ(parsed("redis://:secret@h:1/2").display(), "redis://h:1/2");
  const auto bad = parse_redis_url("redis://:secret@h:1/two");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().text().find("secret"), std::string::npos);
}

TEST(redis_url, what_makes_no_sense_is_refused) {
  for (const auto* url : {"", "localhost:6379", "http://h", "redis://h:0", "redis://h:99999",
                          "redis://h/x", "redis://h?x=1", "redis://a,b", "redis://h?db=x"}) {
    const auto a = parse_redis_url(url);
    ASSERT_FALSE(a.has_value()) << url;
    EXPECT_EQ(a.error().what, "redis.url");
  }
}

} // namespace
} // namespace lycosa::bridges
