#pragma once

#include "core/cluster/shard_leader.hpp"
#include "tests/core/cluster/support.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace lycosa::cluster {

/// Node a begins to lead epoch 2 with two batches of epoch 1 in its log: its opening is batch 3.
class leader_fixture : public testing::Test {
protected:
  static constexpr node_id a{1}, b{2}, c{3};
  static constexpr session_id own{11};
  static constexpr mono_time start{std::chrono::seconds{100}};

  leader_fixture() {
    limits.window_batches = 4;
    limits.message_batches = 2;
    record = {2, a, own, {a, b, c}, {a, b, c}, 2, 10};
  }

  shard_leader& lead() {
    leader.emplace(leadership{a, own, 2}, record, log, 2, limits, start + std::chrono::hours{1},
                   now, out);
    return *leader;
  }
  /// The state of a follower whose log is a part of this one.
  void hear(node_id from, lsn_number synced, bool gap = false) {
    out.clear();
    leader->receive(from, {2, {}, log.at(synced), synced, gap, {}}, now, out);
  }
  void hear(node_id from, const state_message& m) {
    out.clear();
    leader->receive(from, m, now, out);
  }
  void sync(lsn_number through) {
    out.clear();
    leader->synced(through, now, out);
  }
  entry_id append(std::uint32_t bytes = 10) {
    out.clear();
    const auto id = leader->append(bytes, now, out);
    EXPECT_TRUE(id);
    return id ? *id : entry_id{};
  }
  void tick(usec later) {
    now += later;
    out.clear();
    leader->tick(now, out);
  }
  /// The store has taken what was proposed last.
  void accept(const shard_record& next) {
    record = next;
    ++record.version;
    out.clear();
    leader->record_seen(record, now, out);
  }
  lsn_number acknowledged() const {
    const auto all = last_of<effect::acknowledge>(out);
    return all ? all->through : 0;
  }

  shard_log log{1, {{1, 1}}, {10, 10}};
  shard_record record;
  replication_limits limits;
  mono_time now = start;
  effects out;
  std::optional<shard_leader> leader;
};

} // namespace lycosa::cluster
