#include "tests/core/jobs/support.hpp"

namespace lycosa::jobs {
namespace {

using test::at;

const wall_time now = at("2026-03-01T00:00:00Z");

error refused(const std::string& text) {
  auto r = parse_job(text, now);
  EXPECT_FALSE(r.has_value()) << text;
  return r ? error{} : r.error();
}

const std::string rest =
    R"("trigger":{"type":"interval","seconds":10},"action":{"type":"command","shell":"true"})";

TEST(job_json, a_minimal_job_gets_the_defaults) {
  const auto in = parse_job(R"({"id":"a",)" + rest + "}", now);
  ASSERT_TRUE(in.has_value()) << in.error().text();
  const auto& j = in->job;
  EXPECT_EQ(j.max_instances, 1u);
  EXPECT_EQ(j.overlap, overlap_policy::skip);
  EXPECT_EQ(j.coalesce, coalesce_policy::latest);
  EXPECT_EQ(j.misfire_grace, usec{std::chrono::seconds{60}});
  EXPECT_EQ(j.executor, "default");
  EXPECT_EQ(std::get<command_action>(j.action).shell, "true");
}

TEST(job_json, errors_name_the_member) {
  EXPECT_EQ(refused("{" + rest + "}").what, "id");
  const auto e = refused(R"({"id":"a","overlop":"skip",)" + rest + "}");
  EXPECT_EQ(e.what, "overlop");
  EXPECT_NE(e.why.find("\"overlap\""), std::string::npos);
  EXPECT_EQ(refused(R"({"id":"a","max_instances":0,)" + rest + "}").what, "max_instances");
  EXPECT_EQ(refused(R"({"id":"a","retry_delay":[1,-1],)" + rest + "}").what, "retry_delay[1]");
  EXPECT_EQ(refused(R"({"id":"a","timezone":"Mars/Base",)" + rest + "}").what, "timezone");
  EXPECT_EQ(
      refused(
          R"({"id":"a","action":{"type":"command","argv":["a",1]},"trigger":{"type":"interval","seconds":1}})")
          .what,
      "action.argv[1]");
  EXPECT_EQ(
      refused(
          R"({"id":"a","action":{"type":"command","shell":"a"},"trigger":{"type":"cron","hour":"25"}})")
          .what,
      "trigger.hour");
  EXPECT_EQ(refused(R"({"id":"a","trigger":{"type":"interval","seconds":1}})").what, "action");
  EXPECT_EQ(refused("[]").what, "job");
}

TEST(job_json, a_number_out_of_range_is_refused_with_its_bounds) {
  const auto why = [](const std::string& member) {
    const auto e = refused(R"({"id":"a",)" + member + "," + rest + "}");
    return e.what + ": " + e.why;
  };
  EXPECT_EQ(why(R"("jitter":1e12)"),
            "jitter: expected a number of seconds from 0 to 1e11, or a text such as 5m");
  EXPECT_EQ(why(R"("max_instances":18446744073709551615)"),
            "max_instances: expected a whole number from 1 to 1000000");
  EXPECT_EQ(why(R"("retry_delay":{"1000":1})"), "retry_delay.1000: expected the number of a retry "
                                                "from 0 to 999, or nothing for the rest");
  std::string list = "[0";
  for (int i = 0; i < 1000; ++i)
    list += ",1";
  EXPECT_EQ(why("\"retry_delay\":" + list + ",1]"), "retry_delay: has more than 1001 entries");
  EXPECT_TRUE(parse_job(R"({"id":"a","retry_delay":)" + list + "]," + rest + "}", now));
  EXPECT_NE(why(R"("timeout":"5 parsecs")").find("unknown unit 'parsecs'"), std::string::npos);
  // As a number of 32 bits it would be 200.
  EXPECT_EQ(refused(R"({"id":"a","trigger":{"type":"interval","seconds":1},"action":{)"
                    R"("type":"http","url":"http://x/","expect_status":4294967496}})")
                .why,
            "expected a status from 100 to 599");
}

TEST(job_json, the_longest_table_of_delays_reads_back_whole) {
  const auto in = parse_job(R"({"id":"a","retry_delay":{"999":1,"":7},)" + rest + "}", now);
  ASSERT_TRUE(in) << in.error().text();
  ASSERT_EQ(in->job.retry_delay.size(), 1001U);
  const auto again = parse_members(to_members_json(in->job), {});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->retry_delay, in->job.retry_delay);
}

TEST(job_json, what_could_never_run_is_refused_when_it_is_added) {
  const auto action = [](const std::string& members) {
    return refused(R"({"id":"a","trigger":{"type":"interval","seconds":1},"action":{)" + members
                   + "}}");
  };
  EXPECT_EQ(action(R"("type":"command","argv":["a","b\u0000c"])").what, "action.argv[1]");
  EXPECT_EQ(action(R"("type":"command","shell":"a\u0000")").what, "action.shell");
  EXPECT_EQ(action(R"("type":"command","shell":"a","cwd":"\u0000")").what, "action.cwd");
  EXPECT_EQ(action(R"("type":"command","shell":"a","env":{"A":"\u0000"})").what, "action.env.A");
  EXPECT_EQ(action(R"("type":"http","url":"http://x/a b")").what, "action.url");
  EXPECT_EQ(action(R"("type":"http","url":"http://x/\r\nX-Injected: y")").what, "action.url");
}

TEST(job_json, a_job_has_a_largest_size) {
  const std::string much(std::size_t{1} << 20, 'n');
  EXPECT_EQ(refused(R"({"id":"a","name":")" + much + "\"," + rest + "}").what, "job");
  EXPECT_EQ(refused(R"({"id":"a","tags":{"a":")" + much + "\"}," + rest + "}").what, "job");
}

TEST(job_json, what_is_stored_is_read_back) {
  auto in = parse_job(R"({"id":"a","name":"n","timezone":"Europe/Berlin","jitter":3,"retries":2,
    "retry_delay":{"0":1.5,"1":20,"":60},"misfire_grace_time":null,"timeout":"5m","overlap":"buffer_all",
    "coalesce":"all","tags":{"team":"ops"},"run_on_start":true,"rerun_lost":true,"paused":true,
    "pause_reason":"why",)"
                          + rest + "}",
                      now);
  ASSERT_TRUE(in.has_value()) << in.error().text();
  auto& j = in->job;
  j.next = j.trigger.plan(std::nullopt, now, seed_of(j.id));
  j.previous = now;
  j.runs = 7;
  const auto back = parse_members(to_members_json(j), place_of(j));
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(to_members_json(*back), to_members_json(j));
  EXPECT_EQ(place_of(*back), place_of(j));
  EXPECT_EQ(back->trigger, j.trigger);
  EXPECT_EQ(retry_wait(*back, 1), usec{1'500'000});
  EXPECT_EQ(retry_wait(*back, 9), usec{std::chrono::seconds{60}});
  EXPECT_FALSE(back->misfire_grace.has_value());
  EXPECT_FALSE(parse_members("{}", {}).has_value());
}

TEST(job_json, of_a_list_each_is_read_by_itself) {
  const auto one = R"({"id":"a",)" + rest + "}";
  const auto all = parse_jobs("[" + one + R"(,7,{"id":"b"},)" + one + "]", now);
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ((*all)[0]->job.id, "a");
  EXPECT_EQ((*all)[1].error().why, "not an object");
  EXPECT_EQ((*all)[2].error().what, "trigger");
  EXPECT_TRUE((*all)[3].has_value());
  EXPECT_FALSE(parse_jobs("{}", now).has_value());
  EXPECT_FALSE(parse_jobs("[", now).has_value());
}

TEST(job_json, what_is_shown_can_be_sent_again) {
  auto in = parse_job(R"({"id":"a",)" + rest + "}", now);
  ASSERT_TRUE(in.has_value());
  const auto again = parse_job(to_json(in->job), now);
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(again->job.trigger, in->job.trigger);
  EXPECT_EQ(again->job.action, in->job.action);
}

} // namespace
} // namespace lycosa::jobs
