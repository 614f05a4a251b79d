#include "coordination/endpoint.hpp"
#include "coordination/etcd_answer.hpp"
#include "coordination/etcd_api.hpp"
#include "coordination/picture.hpp"
#include "coordination/record_text.hpp"
#include "coordination/texts.hpp"
#include <gtest/gtest.h>

#include <limits>

namespace lycosa::coordination {
namespace {

using cluster::node_id;
using cluster::session_id;

cluster::shard_record some_record() {
  cluster::shard_record r;
  r.epoch = 7;
  r.leader = node_id{2};
  r.leader_session = session_id{0x7f00000000000001};
  r.in_sync = {node_id{1}, node_id{2}};
  r.replicas = {node_id{2}, node_id{1}, node_id{std::numeric_limits<std::uint64_t>::max()}};
  r.min_in_sync = 2;
  r.version = 99;
  return r;
}

TEST(RecordText, is_read_as_it_was_written) {
  const auto r = some_record();
  const auto read = parse_record(to_text(r), 99);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, r);
}

TEST(RecordText, a_record_without_a_leader_is_read_as_it_was_written) {
  auto r = cluster::found_shard(node_id{5}, {node_id{5}}, 1);
  r.version = 1;
  const auto read = parse_record(to_text(r), 1);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, r);
}

TEST(RecordText, looks_like_this) {
  EXPECT_EQ(to_text(some_record()),
            R"({"epoch":7,"format":1,"in_sync":["0000000000000001","0000000000000002"],)"
            R"("leader":"0000000000000002","leader_session":"7f00000000000001","min_in_sync":2,)"
            R"("replicas":["0000000000000002","0000000000000001","ffffffffffffffff"]})");
}

/// The text with a field set to something else; none = left out.
std::string with(const char* name, std::optional<nlohmann::json> value) {
  auto j = nlohmann::json::parse(to_text(some_record()));
  j.erase(name);
  if (value) j[name] = *value;
  return j.dump();
}

TEST(RecordText, whatever_was_not_written_by_this_version_is_refused) {
  using nlohmann::json;
  const std::string id = "0000000000000001";
  std::vector<std::string> texts{"", "[]", "7", "{", "{}", with("more", 1)};
  for (const auto* name :
       {"epoch", "leader", "leader_session", "in_sync", "min_in_sync", "replicas", "format"}) {
    texts.push_back(with(name, std::nullopt));
    texts.push_back(with(name, json("?")));
    texts.push_back(with(name, json(-1)));
    texts.push_back(with(name, json(1.5)));
    texts.push_back(with(name, json::object()));
  }
  texts.push_back(with("leader", "0000000000000009"));                     // not in sync
  texts.push_back(with("leader", nullptr));                                // with a session
  texts.push_back(with("leader_session", nullptr));                        // without one
  texts.push_back(with("leader", "0000000000000000"));                     // none, in other words
  texts.push_back(with("in_sync", json::array()));                         // nobody
  texts.push_back(with("in_sync", json::array({"0000000000000002", id}))); // not sorted
  texts.push_back(with("in_sync", json::array({id, id, "0000000000000002"}))); // one twice
  texts.push_back(with("replicas", json::array({id, id})));                    // the same
  texts.push_back(with("replicas", json::array({"1"})));                       // another spelling
  texts.push_back(with("replicas", json::array({"000000000000000A"})));        // the same
  texts.push_back(with("min_in_sync", 0));
  texts.push_back(with("min_in_sync", 1ULL << 32));
  for (const auto& text : texts) {
    const auto read = parse_record(text, 1);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, errc::corrupt) << text;
  }
}

TEST(RecordText, another_format_is_called_so) {
  const auto read = parse_record(with("format", 2), 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::incompatible);
}

TEST(MemberText, is_read_as_it_was_written_and_may_say_more) {
  member m{node_id{3}, session_id{4}, "a \"name\"", "h:1", "h:2", "rack \xc3\xa9", 2, 1};
  auto j = nlohmann::json::parse(to_text(m));
  j["more"] = 1;
  const auto read = parse_member(j.dump());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, m);
  const auto whole = nlohmann::json::parse(to_text(m));
  for (const auto& [name, value] : whole.items()) {
    auto less = whole;
    less.erase(name);
    EXPECT_FALSE(parse_member(less.dump())) << name;
  }
}

TEST(FactsText, is_read_as_it_was_written) {
  const cluster_facts f{"abc", 3, 64};
  const auto read = parse_facts(to_text(f));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, f);
  EXPECT_FALSE(parse_facts(R"({"id":"","format":1,"shards":1})"));
  EXPECT_FALSE(parse_facts(R"({"id":"a","format":1,"shards":0})"));
  EXPECT_FALSE(parse_facts(R"({"id":"a","format":1,"shards":65536})"));
}

TEST(Base64, goes_both_ways_and_refuses_the_rest) {
  const std::string all("\0\xff\n a", 5);
  for (std::size_t n = 0; n <= all.size(); ++n)
    EXPECT_EQ(etcd::from_base64(etcd::to_base64(all.substr(0, n))), all.substr(0, n));
  for (const auto* text : {"a", "ab", "abc", "ab c", "====", "a===", "ab=c", "abc\n", "ab=\n"})
    EXPECT_FALSE(etcd::from_base64(text)) << text;
}

TEST(Endpoint, is_read) {
  EXPECT_EQ(parse_endpoint("http://a:1")->text(), "http://a:1");
  EXPECT_EQ(parse_endpoint("https://a.b/")->text(), "https://a.b:2379");
  EXPECT_EQ(parse_endpoint("[::1]:7")->text(), "http://[::1]:7");
  for (const auto* text : {"", "http://", "ftp://a:1", "a:", "a:0", "a:70000", "a:1x", "[::1",
                           "a/b", "u@a:1", "[::1]7"})
    EXPECT_FALSE(parse_endpoint(text)) << text;
}

TEST(EtcdAnswer, what_etcd_does_not_say_is_not_taken_for_its_answer) {
  for (const auto* body : {"", "{}", "<html>", "[1]", R"({"header":1})", R"({"header":{}})",
                           R"({"error":1})", R"({"result":7})", R"({"error":{"code":5}})"}) {
    const auto read = read_answer(200, body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, errc::incompatible) << body;
    EXPECT_TRUE(read.error().elsewhere);
  }
  EXPECT_EQ(read_answer(503, "busy").error().code, errc::unavailable);
  EXPECT_EQ(read_answer(404, R"({"error":"e","message":"m","code":5})").error().code,
            errc::not_found);
  EXPECT_TRUE(read_answer(401, R"({"error":"e","message":"m","code":16})").error().token);
  EXPECT_TRUE(read_answer(503, R"({"error":"e","message":"m","code":14})").error().elsewhere);
}

TEST(Picture, a_key_never_goes_back) {
  picture p;
  EXPECT_TRUE(p.put("k", "new", 5));
  EXPECT_FALSE(p.put("k", "old", 4));
  EXPECT_FALSE(p.put("k", std::nullopt, 3));
  EXPECT_TRUE(p.put("k", std::nullopt, 6));
  EXPECT_FALSE(p.put("k", "new", 5));
  EXPECT_FALSE(p.find("k"));
}

TEST(Picture, all_read_again_yields_what_differs) {
  picture p;
  p.put("same", "1", 1);
  p.put("changed", "1", 2);
  p.put("gone", "1", 3);
  p.put("later", "1", 9); // by an answer that overtook the reading
  const auto changes =
      p.replace({{"same", "1", 1, 0}, {"changed", "2", 5, 0}, {"new", "1", 6, 0}}, 7, 3);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].key, "changed");
  EXPECT_EQ(changes[1].key, "new");
  EXPECT_EQ(changes[2].key, "gone");
  EXPECT_FALSE(changes[2].value);
  EXPECT_TRUE(p.find("later"));
}

TEST(Picture, a_store_put_back_to_an_older_state_is_believed) {
  picture p;
  p.put("k", "new", 50);
  p.put("l", "new", 51);
  const auto changes = p.replace({{"k", "old", 4, 0}}, 10, 51);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(p.find("k")->value, "old");
  EXPECT_FALSE(p.find("l"));
  EXPECT_EQ(p.newest(), 10u);
}

} // namespace
} // namespace lycosa::coordination
