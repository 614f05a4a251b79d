#include "tests/coordination/watcher.hpp"

#include "coordination/etcd_api.hpp"
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lycosa::coordination::testing {
namespace {

using cluster::node_id;
using cluster::session_id;

cluster::shard_record new_record(std::uint64_t node) {
  return cluster::found_shard(node_id{node}, {node_id{node}}, 1);
}

bool is_member(const watcher::state& s, std::uint64_t node) {
  return s.members.contains(node_id{node});
}

TEST(EtcdStore, a_session_begins_and_is_prolonged) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.until.size() >= 3; }));
  const auto s = a.sees_.now();
  EXPECT_EQ(s.sessions, 1);
  EXPECT_EQ(s.ended, 0);
  EXPECT_TRUE(std::is_sorted(s.until.begin(), s.until.end()));
  EXPECT_GT(s.until[2], s.until[0]);
  ASSERT_TRUE(a.sees([](const auto& t) { return is_member(t, 1); }));
  auto self = node_number(1);
  self.session = s.session;
  EXPECT_EQ(a.sees_.now().members.at(node_id{1}), self);
  EXPECT_TRUE(a.sees_.now().asked_to_found);
}

TEST(EtcdStore, a_session_ends_when_etcd_is_silent_and_another_one_begins) {
  etcd_server etcd;
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.joined());
  const auto first = a.sees_.now().session;
  etcd.freeze();
  ASSERT_TRUE(a.sees([](const auto& s) { return s.ended == 1; }));
  etcd.thaw();
  ASSERT_TRUE(a.sees([&](const auto& s) {
    return s.session != session_id::none && s.session != first && is_member(s, 1)
           && s.members.at(node_id{1}).session == s.session;
  }));
}

TEST(EtcdStore, a_session_that_etcd_ends_is_over) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.joined());
  const auto first = a.sees_.now().session;
  must(etcd.endpoint(), "/v3/lease/revoke", etcd::lease(static_cast<std::uint64_t>(first)));
  ASSERT_TRUE(a.sees([&](const auto& s) {
    return s.ended == 1 && s.session != session_id::none && s.session != first;
  }));
}

TEST(EtcdStore, members_appear_and_vanish_when_they_stop) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  {
    node b(etcd.endpoint(), 2);
    ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 1) && is_member(s, 2); }));
    ASSERT_TRUE(b.sees([](const auto& s) { return is_member(s, 1) && is_member(s, 2); }));
    b.store_->stop();
    ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 1) && !is_member(s, 2); }));
    EXPECT_EQ(b.sees_.now().ended, 0) << "who stops is not told";
  }
  node c(etcd.endpoint(), 2);
  ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 2); }));
}

TEST(EtcdStore, a_member_that_is_killed_vanishes_when_its_session_expires) {
  const etcd_server etcd;
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const node b(etcd.endpoint(), 2);
    while (true)
      ::pause();
  }
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 2); }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(a.sees([](const auto& s) { return is_member(s, 1) && !is_member(s, 2); }));
}

TEST(EtcdStore, a_node_waits_until_its_former_session_has_ended) {
  const etcd_server etcd;
  auto first = std::make_unique<node>(etcd.endpoint(), 1);
  node other(etcd.endpoint(), 2);
  ASSERT_TRUE(first->joined());
  ASSERT_TRUE(other.sees([](const auto& s) { return is_member(s, 1) && is_member(s, 2); }));
  node again(etcd.endpoint(), 1);
  // It sees the first for several renewals, and does not join.
  ASSERT_TRUE(again.sees([](const auto& s) { return is_member(s, 1); }));
  const auto so_far = other.sees_.now().until.size();
  ASSERT_TRUE(other.sees([&](const auto& s) { return s.until.size() >= so_far + 3; }));
  EXPECT_EQ(again.sees_.now().sessions, 0);
  first.reset();
  EXPECT_TRUE(again.joined());
}

TEST(EtcdStore, of_two_changes_of_one_record_exactly_one_is_made) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  node b(etcd.endpoint(), 2);
  ASSERT_TRUE(a.joined() && b.joined());
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;
  for (int round = 0; round < 20; ++round) {
    for (auto* n : {&a, &b}) {
      auto next = new_record(n == &a ? 1 : 2);
      next.epoch = epoch + 1;
      next.version = version;
      n->store_->propose("s", next, session_id::none);
    }
    const auto changed = [&](const auto& s) {
      return s.records.contains("s") && s.records.at("s").version > version;
    };
    ASSERT_TRUE(a.sees(changed) && b.sees(changed));
    const auto won = a.sees_.now().records.at("s");
    EXPECT_EQ(won, b.sees_.now().records.at("s"));
    EXPECT_EQ(won.epoch, epoch + 1);
    // Had the other been made too, this one could not be: its version would be an older one.
    auto next = won;
    next.epoch = epoch + 2;
    a.store_->propose("s", next, session_id::none);
    const auto settled = [&](const auto& s) { return s.records.at("s").epoch == epoch + 2; };
    ASSERT_TRUE(a.sees(settled) && b.sees(settled));
    epoch += 2;
    version = a.sees_.now().records.at("s").version;
  }
}

TEST(EtcdStore, a_refused_change_shows_the_record_there_is) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.joined());
  a.store_->propose("s", new_record(1), session_id::none);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.records.contains("s"); }));
  const auto known = a.sees_.now();
  auto late = new_record(2);
  late.version = 1; // never was the record's
  a.store_->propose("s", late, session_id::none);
  ASSERT_TRUE(a.sees([&](const auto& s) { return s.told_of_records > known.told_of_records; }));
  EXPECT_EQ(a.sees_.now().records.at("s"), known.records.at("s"));
}

TEST(EtcdStore, a_change_is_refused_while_the_session_it_names_lasts) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  node b(etcd.endpoint(), 2);
  ASSERT_TRUE(a.joined() && b.joined());
  const auto of_b = b.sees_.now().session;
  a.store_->propose("s", new_record(1), of_b);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.told_of_records == 1; }));
  EXPECT_TRUE(a.sees_.now().records.empty());
  b.store_->stop();
  a.store_->propose("s", new_record(1), of_b);
  EXPECT_TRUE(a.sees([](const auto& s) { return s.records.contains("s"); }));
}

TEST(EtcdStore, of_two_founders_one_founds_all) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  node b(etcd.endpoint(), 2);
  ASSERT_TRUE(a.joined() && b.joined());
  std::map<std::string, cluster::shard_record> shards[2];
  for (int i = 0; i < 1000; ++i)
    for (const std::uint64_t n : {0, 1})
      shards[n].emplace(std::to_string(i), new_record(n + 1));
  answer_to<bool> first;
  answer_to<bool> second;
  a.store_->found({"by a", 1, 1000}, shards[0], first.here());
  b.store_->found({"by b", 1, 1000}, shards[1], second.here());
  const auto of_a = first.get();
  const auto of_b = second.get();
  ASSERT_TRUE(of_a) << of_a.error().text();
  ASSERT_TRUE(of_b) << of_b.error().text();
  EXPECT_NE(*of_a, *of_b);
  for (auto* n : {&a, &b}) {
    ASSERT_TRUE(n->sees([](const auto& s) { return s.records.size() == 1000 && s.facts; }));
    const auto s = n->sees_.now();
    EXPECT_EQ(s.facts->id, *of_a ? "by a" : "by b");
    for (const auto& [shard, record] : s.records)
      ASSERT_EQ(record.in_sync.front(), (node_id{*of_a ? 1u : 2u})) << shard;
  }
  // More than a page, for one that comes later.
  node c(etcd.endpoint(), 3);
  ASSERT_TRUE(c.joined());
  EXPECT_EQ(c.sees_.now().records.size(), 1000u);
  EXPECT_TRUE(c.sees_.now().facts);
}

TEST(EtcdStore, notes_come_and_go) {
  const etcd_server etcd;
  node a(etcd.endpoint(), 1);
  node b(etcd.endpoint(), 2);
  ASSERT_TRUE(a.joined());
  answer_to<void> put;
  a.store_->put_note("drain/1", std::string("y\0s\xff", 4), put.here());
  ASSERT_TRUE(put.get());
  ASSERT_TRUE(b.sees([](const auto& s) { return s.notes.contains("drain/1"); }));
  EXPECT_EQ(b.sees_.now().notes.at("drain/1"), std::string("y\0s\xff", 4));
  answer_to<void> erased;
  a.store_->erase_note("drain/1", erased.here());
  ASSERT_TRUE(erased.get());
  EXPECT_TRUE(b.sees([](const auto& s) { return s.notes.empty(); }));
}

TEST(EtcdStore, who_asks_is_answered_although_the_node_stops) {
  etcd_server etcd;
  auto c = config_for(etcd.endpoint());
  c.timeout = std::chrono::seconds{1};
  node a(c, 1);
  ASSERT_TRUE(a.joined());
  etcd.freeze();
  answer_to<void> put;
  a.store_->put_note("k", "v", put.here());
  a.store_->stop();
  EXPECT_FALSE(put.get());
  answer_to<void> later;
  a.store_->put_note("k", "v", later.here());
  EXPECT_FALSE(later.get());
}

TEST(EtcdStore, nothing_is_missed_when_etcd_restarts_and_compacts) {
  etcd_server etcd;
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(a.joined());
  a.store_->propose("gone", new_record(1), session_id::none);
  a.store_->propose("kept", new_record(1), session_id::none);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.records.size() == 2; }));
  etcd.kill();
  etcd.start();
  const auto at = etcd.endpoint();
  must(at, "/v3/kv/deleterange", etcd::erase("/lycosa/test/shards/gone"));
  const auto done = must(at, "/v3/kv/put", etcd::put("/lycosa/test/notes/n", "1"));
  must(at, "/v3/kv/compaction", {{"revision", std::to_string(etcd::revision(done))}});
  EXPECT_TRUE(a.sees([](const auto& s) {
    return s.records.size() == 1 && s.records.contains("kept") && s.notes.contains("n");
  }));
  must(at, "/v3/kv/put", etcd::put("/lycosa/test/notes/m", "1"));
  EXPECT_TRUE(a.sees([](const auto& s) { return s.notes.contains("m"); }));
  EXPECT_TRUE(a.sees([](const auto& s) { return s.session != session_id::none; }));
}

TEST(EtcdStore, what_cannot_be_read_is_passed_over) {
  const etcd_server etcd;
  const auto at = etcd.endpoint();
  for (const auto* key : {"facts", "members/0000000000000005", "members/x", "shards/s", "nonsense"})
    must(at, "/v3/kv/put", etcd::put(std::string("/lycosa/test/") + key, "{"));
  node a(at, 1);
  ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 1); }));
  EXPECT_EQ(a.sees_.now().members.size(), 1u);
  EXPECT_TRUE(a.sees_.now().records.empty());
  EXPECT_FALSE(a.sees_.now().asked_to_found);
}

TEST(EtcdStore, clusters_of_other_names_are_not_seen) {
  const etcd_server etcd;
  auto c = config_for(etcd.endpoint());
  c.cluster = "test2";
  node other(c, 2);
  node a(etcd.endpoint(), 1);
  ASSERT_TRUE(other.sees([](const auto& s) { return is_member(s, 2); }));
  ASSERT_TRUE(a.sees([](const auto& s) { return is_member(s, 1); }));
  EXPECT_FALSE(is_member(a.sees_.now(), 2));
}

} // namespace
} // namespace lycosa::coordination::testing
