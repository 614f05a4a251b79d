#include "crawl/robots.hpp"
#include <gtest/gtest.h>

namespace lycosa::crawl {
namespace {

TEST(robots, without_rules_everything_is_allowed) {
  EXPECT_TRUE(robots{""}.allows("me", "/x"));
  EXPECT_TRUE(robots{"User-agent: *\nDisallow:"}.allows("me", "/x"));
  EXPECT_TRUE(robots{"no robots at all <html>"}.allows("me", "/x"));
  EXPECT_FALSE(robots::disallow_all().allows("me", "/x"));
  EXPECT_TRUE(robots::disallow_all().allows("me", "/robots.txt"));
}

TEST(robots, the_group_of_the_agent_counts_and_else_that_of_all) {
  const robots r{"User-Agent: Other # note\nUSER-AGENT: me\nDisallow: /mine\n\n"
                 "user-agent: *\ndisallow: /\n\nUser-agent: me\nDisallow: /more\r\n"};
  EXPECT_FALSE(r.allows("me/1.0 (x)", "/mine"));
  EXPECT_FALSE(r.allows("ME", "/more/x")) << "groups of one agent are joined";
  EXPECT_TRUE(r.allows("me", "/else"));
  EXPECT_FALSE(r.allows("stranger", "/else"));
}

TEST(robots, the_longest_match_wins_and_allow_among_equals) {
  const robots r{
      "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nDisallow: /e\nAllow: /e"};
  EXPECT_FALSE(r.allows("x", "/a/x"));
  EXPECT_TRUE(r.allows("x", "/a/b/x"));
  EXPECT_FALSE(r.allows("x", "/a/b/c"));
  EXPECT_TRUE(r.allows("x", "/e"));
  EXPECT_TRUE(r.allows("x", "/other"));
}

TEST(robots, stars_and_the_end_mark) {
  const robots r{"User-agent: *\nDisallow: /*.gif$\nDisallow: /a*b*c\nDisallow: /q?x="};
  EXPECT_FALSE(r.allows("x", "/p/i.gif"));
  EXPECT_TRUE(r.allows("x", "/p/i.gif?x"));
  EXPECT_FALSE(r.allows("x", "/axxbyyczz"));
  EXPECT_TRUE(r.allows("x", "/axxcyyb"));
  EXPECT_FALSE(r.allows("x", "/q?x=1"));
  EXPECT_FALSE(r.allows("x", "/i.gif.gif"));
}

TEST(robots, hostile_patterns_cost_little) {
  std::string stars = "User-agent: *\nDisallow: /";
  for (int i = 0; i < 1000; ++i)
    stars += "*a";
  EXPECT_TRUE(robots{stars + "b"}.allows("x", "/" + std::string(2000, 'a')));
}

} // namespace
} // namespace lycosa::crawl
