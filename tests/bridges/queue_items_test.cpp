#include "bridges/msgpack.hpp"
#include "bridges/queue_items.hpp"
#include <gtest/gtest.h>

namespace lycosa::bridges {
namespace {

using namespace std::chrono_literals;

std::string packed(std::string_view json) {
  return to_msgpack(json).value();
}

TEST(queue_items, a_message_holds_one_task_or_a_list_of_them) {
  const auto batch = read_newtasks(
      {packed(R"({"taskid":"a","project":"p","url":"http://x/","schedule":{"priority":3}})"),
       packed(
           R"([{"taskid":"b","project":"p","url":"u"},{"taskid":"c","project":"q","url":"u"}])")},
      {});
  ASSERT_EQ(batch.request.items.size(), 3U);
  EXPECT_EQ(batch.request.items[0].record.sched.priority, 3);
  EXPECT_EQ(batch.request.items[1].record.taskid, "b");
  EXPECT_EQ(batch.request.items[2].record.project, "q");
  EXPECT_EQ(batch.malformed, 0U);
  EXPECT_TRUE(batch.refused.empty());
}

TEST(queue_items, what_is_wrong_is_named_and_holds_up_nothing) {
  const auto batch =
      read_newtasks({"\xc1", packed("12"), packed(R"({"project":"p","url":"u"})"),
                     packed(R"([{"taskid":1},{"taskid":"ok","project":"p","url":"u"}])")},
                    {});
  ASSERT_EQ(batch.request.items.size(), 1U);
  EXPECT_EQ(batch.request.items[0].record.taskid, "ok");
  EXPECT_EQ(batch.malformed, 2U);
  ASSERT_EQ(batch.refused.size(), 4U);
  EXPECT_NE(batch.refused[2].why.find("taskid: required"), std::string::npos);
}

TEST(queue_items, a_status_pack_is_a_report_without_a_lease) {
  const auto batch = read_statuses(
      {packed(R"({"taskid":"a","project":"p","url":"u","track":{"fetch":{"ok":true,"time":0.5},)"
              R"("process":{"ok":false,"time":0.1}},"schedule":{"age":3}})"),
       packed(R"({"taskid":"_on_get_info","project":"p","track":{"save":{"min_tick":0,)"
              R"("retry_delay":{"0":5}}}})")},
      {});
  ASSERT_EQ(batch.request.items.size(), 2U);
  const auto& r = batch.request.items[0];
  EXPECT_FALSE(r.lease);
  EXPECT_TRUE(r.pack.fetch_ok);
  EXPECT_FALSE(r.pack.process_ok);
  EXPECT_EQ(r.pack.fetch_time, 0.5);
  EXPECT_EQ(r.pack.age, 3s);
}

TEST(queue_items, a_task_goes_out_with_what_pyspiders_fetcher_reads_and_without_its_lease) {
  actors::leased_task t;
  t.record.project = "p";
  t.record.taskid = "t";
  t.record.url = "http://x/";
  t.record.fetch = R"({"headers":{"A":"b"},"timeout":1.5})";
  t.lease = "secret";
  t.group = "g";
  t.project_md5sum = "md5";
  t.project_updatetime = wall_time{1'700'000'000s};
  std::string json;
  ASSERT_TRUE(append_as_json(json, write_task(t)).has_value());
  for (const auto* key :
       {"taskid", "project", "url", "status", "schedule", "fetch", "process", "track",
        "lastcrawltime", "type", "group", "project_md5sum", "project_updatetime"})
    EXPECT_NE(json.find('"' + std::string{key} + "\":"), std::string::npos) << key;
  EXPECT_NE(json.find(R"("timeout":1.5)"), std::string::npos);
  EXPECT_EQ(json.find("lease"), std::string::npos);
}

} // namespace
} // namespace lycosa::bridges
