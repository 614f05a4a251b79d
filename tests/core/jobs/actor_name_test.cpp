#include "core/jobs/actor_name.hpp"
#include "core/jobs/job_json.hpp"
#include "core/jobs/value_text.hpp"

#include <gtest/gtest.h>

namespace lycosa::jobs {
namespace {

TEST(actor_name, a_name_alone_is_of_this_process) {
  const auto n = parse_actor_name("greeter");
  ASSERT_TRUE(n.has_value());
  EXPECT_EQ(*n, (actor_name{"greeter", "", 0}));
  EXPECT_FALSE(n->remote());
}

TEST(actor_name, a_place_is_a_host_and_a_port) {
  EXPECT_EQ(parse_actor_name("a_1@example.org:65535").value(),
            (actor_name{"a_1", "example.org", 65535}));
  EXPECT_EQ(parse_actor_name("a@127.0.0.1:80").value().endpoint(), "127.0.0.1:80");
  const auto v6 = parse_actor_name("a@[fe80::1%eth0]:80").value();
  EXPECT_EQ(v6, (actor_name{"a", "fe80::1%eth0", 80}));
  EXPECT_EQ(v6.endpoint(), "[fe80::1%eth0]:80");
}

TEST(actor_name, what_is_wrong_is_said) {
  const auto why = [](std::string_view text) {
    const auto n = parse_actor_name(text, "here");
    EXPECT_FALSE(n.has_value()) << text;
    if (n) return std::string{};
    EXPECT_EQ(n.error().what, "here");
    return n.error().why;
  };
  EXPECT_NE(why("").find("missing"), std::string::npos);
  EXPECT_NE(why("@host:1").find("missing"), std::string::npos);
  for (const auto* name : {"elevenchars", "a b", "a-b", "gr\xc3\xbc\xc3\x9f"})
    EXPECT_NE(why(name).find("1 to 10"), std::string::npos) << name;
  for (const auto* port : {"a@h:", "a@h:0", "a@h:65536", "a@h:-1", "a@h:1x", "a@[::1]:"})
    EXPECT_NE(why(port).find("65535"), std::string::npos) << port;
  EXPECT_NE(why("a@h").find("port is missing"), std::string::npos);
  EXPECT_NE(why("a@:1").find("host is missing"), std::string::npos);
  EXPECT_NE(why("a@::1:80").find("brackets"), std::string::npos);
  for (const auto* host : {"a@h/x:1", "a@b@c:1", "a@h h:1"})
    EXPECT_NE(why(host).find("no host"), std::string::npos) << host;
  for (const auto* v6 : {"a@[h]:1", "a@[]:1", "a@[::1/]:1"})
    EXPECT_NE(why(v6).find("IPv6"), std::string::npos) << v6;
  for (const auto* form : {"a@[::1", "a@[::1]", "a@[::1]80"})
    EXPECT_NE(why(form).find("[ADDRESS]"), std::string::npos) << form;
}

TEST(actor_name, an_action_with_a_bad_one_is_refused) {
  const auto refused = parse_action(R"({"type":"actor","name":"greeter@host"})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().what, "action.name");
  EXPECT_EQ(refused.error().why, "the port is missing: NAME@HOST:PORT");
  EXPECT_TRUE(parse_action(R"({"type":"actor","name":"greeter@host:1","payload":[1]})"));
  EXPECT_TRUE(parse_action(R"({"type":"function","name":"any name - is fine"})"));
}

TEST(value_text, json_stays_and_other_text_becomes_a_string) {
  EXPECT_EQ(value_text(""), "");
  EXPECT_EQ(value_text(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(value_text("42"), "42");
  EXPECT_EQ(value_text("hello \"you\""), R"("hello \"you\"")");
  EXPECT_EQ(value_text("\xff"), "\"\xef\xbf\xbd\"");
}

} // namespace
} // namespace lycosa::jobs
