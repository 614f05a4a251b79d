#include "core/cluster/copy_pieces.hpp"
#include "tests/core/cluster/leader_fixture.hpp"

#include <functional>
#include <map>

namespace lycosa::cluster {
namespace {

using namespace std::chrono_literals;

constexpr node_id follower{2};
constexpr usec again = 500ms;

copy_message piece(std::uint64_t copy, std::uint32_t number) {
  copy_message m;
  m.id = {1, copy};
  m.chunk = number;
  return m;
}

std::vector<std::uint32_t> take_all(copy_pieces& from, mono_time now) {
  std::vector<std::uint32_t> out;
  while (const auto p = from.take(now))
    out.push_back(p->what.chunk);
  return out;
}

TEST(copy_pieces_queue, a_piece_that_waits_is_not_taken_twice) {
  copy_pieces q(0, again);
  EXPECT_TRUE(q.add(follower, piece(1, 0), mono_time{}));
  EXPECT_FALSE(q.add(follower, piece(1, 0), mono_time{1h}));
  EXPECT_TRUE(q.add(follower, piece(1, 1), mono_time{1h}));
  EXPECT_EQ(take_all(q, mono_time{1h}), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_FALSE(q.next());
}

TEST(copy_pieces_queue, one_that_has_just_left_neither_but_later_it_may_have_been_lost) {
  copy_pieces q(0, again);
  q.add(follower, piece(1, 0), mono_time{});
  ASSERT_TRUE(q.take(mono_time{1s}));
  EXPECT_FALSE(q.add(follower, piece(1, 0), mono_time{1s} + again - 1us));
  EXPECT_TRUE(q.add(follower, piece(1, 0), mono_time{1s} + again));
}

TEST(copy_pieces_queue, what_was_lost_goes_before_what_comes_behind_it) {
  copy_pieces q(0, again);
  q.add(follower, piece(1, 0), mono_time{});
  ASSERT_TRUE(q.take(mono_time{}));
  q.add(follower, piece(1, 1), mono_time{1s});
  q.add(follower, piece(1, 0), mono_time{1s});
  EXPECT_EQ(take_all(q, mono_time{1s}), (std::vector<std::uint32_t>{0, 1}));
}

TEST(copy_pieces_queue, keeps_to_its_rate) {
  copy_pieces q(1000, again);
  for (std::uint32_t i = 0; i < 3; ++i)
    q.add(follower, piece(1, i), mono_time{});
  EXPECT_EQ(q.next(), mono_time{});
  ASSERT_TRUE(q.take(mono_time{}));
  q.sent(2000, mono_time{});
  EXPECT_EQ(q.next(), mono_time{2s});
  EXPECT_FALSE(q.take(mono_time{2s} - 1us));
  ASSERT_TRUE(q.take(mono_time{2s}));
  q.sent(500, mono_time{10s}); // it was read that slowly: what was not used is not made up for
  EXPECT_EQ(q.next(), mono_time{10s} + 500ms);
}

TEST(copy_pieces_queue, a_copying_that_ends_takes_its_pieces_along) {
  copy_pieces q(1000, again);
  for (std::uint32_t i = 0; i < 3; ++i)
    q.add(follower, piece(1, i), mono_time{});
  q.add(follower, piece(2, 0), mono_time{});
  q.close({1, 1});
  const auto next = q.take(mono_time{});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->what.id, (copy_id{1, 2}));
  EXPECT_FALSE(q.next());
}

/// A leader that copies, its sender, and a follower, in virtual time.
struct slow_copy : leader_fixture {
  static constexpr std::uint64_t piece_bytes = 1 << 20;

  void begin(std::uint32_t pieces) {
    record.in_sync = {a, c};
    lead();
    hear(b, {2, {}, {1, 5}, 5, false, {}});
    const auto view = last_of<effect::open_snapshot>(out);
    ASSERT_TRUE(view);
    id = view->id;
    out.clear();
    leader->snapshot_opened(id, {2, 3}, pieces, now, out);
    pass_on();
  }
  void pass_on() {
    for (auto& m : sent<copy_message>(out, b))
      sender.add(b, std::move(m), now);
    for (const auto& e : all_of<effect::close_snapshot>(out))
      sender.close(e.id);
  }
  /// Until all pieces are there. `lost`: whether what is sent the nth time is lost.
  void run(std::uint32_t pieces, const std::function<bool(std::uint32_t, int)>& lost) {
    std::uint32_t there = 0;
    std::map<mono_time, std::uint32_t> arrives; // pieces, after the network and the disk
    for (const auto end = now + 10min; there < pieces; now += 10ms) {
      ASSERT_LT(now, end);
      if (const auto p = sender.take(now)) {
        sender.sent(piece_bytes, now);
        const auto n = p->what.chunk;
        if (!lost(n, times[n]++)) arrives[now + 150ms] = n;
      }
      while (!arrives.empty() && arrives.begin()->first <= now) {
        if (arrives.begin()->second == there) ++there;
        arrives.erase(arrives.begin());
        hear(b, {2, id, {}, 0, false, copy_progress{id, {2, 3}, there}});
        pass_on();
      }
      tick(usec{});
      pass_on();
    }
  }

  copy_pieces sender{1 << 20, limits.resend_after};
  copy_id id;
  std::map<std::uint32_t, int> times; ///< a piece was sent
};

TEST_F(slow_copy, sends_each_piece_once_however_low_the_rate_is) {
  begin(20);
  run(20, [](auto, auto) { return false; });
  ASSERT_EQ(times.size(), 20U);
  for (const auto& [number, count] : times)
    EXPECT_EQ(count, 1) << number;
}

TEST_F(slow_copy, sends_again_what_was_lost) {
  begin(20);
  run(20, [](std::uint32_t n, int before) { return n % 5 == 0 && before == 0; });
  ASSERT_EQ(times.size(), 20U);
  EXPECT_EQ(times[0], 2);
  EXPECT_EQ(times[5], 2);
}

TEST_F(slow_copy, has_nothing_left_to_send_once_it_is_closed) {
  begin(20);
  ASSERT_TRUE(sender.next());
  leader->stop(stop_reason::fenced, out);
  pass_on();
  EXPECT_FALSE(sender.next());
}

} // namespace
} // namespace lycosa::cluster
