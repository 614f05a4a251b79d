#include "core/task_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace lycosa {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A queue with clocks that move only when told, and tasks numbered from 1.
struct queue_test : ::testing::Test {
  task_queue q;
  instant now{wall_time{seconds{1'700'000'000}}, mono_time{seconds{1000}}};
  usec timeout = milliseconds{500};
  std::uint64_t arrivals = 0;
  static constexpr std::uint64_t epoch = 7;

  static task_key key(std::uint64_t n) { return {1, n}; }
  queue_position at(int priority, usec in = {}) { return {now.wall + in, priority, ++arrivals}; }
  put_outcome put(std::uint64_t n, int priority, usec in = {}) {
    return q.put(key(n), at(priority, in), now.wall);
  }
  void pass(usec d) {
    now.wall += d;
    now.mono += d;
  }
  void check_update() {
    q.check_due(now.wall);
    q.expire(now);
  }
  std::uint64_t get() {
    const auto l = q.lease(now, timeout);
    return l ? l->key.seq() : 0;
  }
  std::vector<std::uint64_t> get_all() {
    std::vector<std::uint64_t> out;
    while (const auto n = get())
      out.push_back(n);
    return out;
  }
  lease_token token(std::uint64_t n, std::uint32_t number, std::uint64_t in_epoch = epoch) {
    lease_token t;
    t.key = key(n);
    t.number = number;
    t.epoch = in_epoch;
    return t;
  }
  lease_token token(const queue_lease& l) { return token(l.key.seq(), l.number); }
  lease_verdict judge(const lease_token& t) { return q.judge(t.key, t, epoch); }
  lease_verdict judge(std::uint64_t n) { return q.judge(key(n), std::nullopt, epoch); }
  queue_state state(std::uint64_t n) { return q.state_of(key(n))->state; }
};

// -- order ---------------------------------------------------------------------------------------

TEST_F(queue_test, ready_tasks_leave_by_priority_and_first_in_first_out_within_one) {
  for (std::uint64_t n = 0; n < 100; ++n)
    put(n + 1, static_cast<int>(n / 10));
  for (int priority = 9; priority >= 0; --priority)
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(get(), static_cast<std::uint64_t>(priority * 10 + i + 1));
  EXPECT_EQ(q.size(), 100U);
  EXPECT_EQ(q.ready(), 0U);
  EXPECT_EQ(q.processing(), 100U);
}

TEST_F(queue_test, delayed_tasks_become_ready_at_their_moment_and_then_leave_by_priority) {
  for (std::uint64_t n = 0; n < 20; ++n)
    put(n + 1, static_cast<int>(n % 10), milliseconds{5} * static_cast<int>(n + 1));
  EXPECT_EQ(q.ready(), 0U);
  EXPECT_EQ(q.delayed(), 20U);
  EXPECT_EQ(*q.next_due(), now.wall + milliseconds{5});
  pass(milliseconds{100});
  check_update();
  EXPECT_EQ(q.ready(), 20U);
  EXPECT_EQ(q.delayed(), 0U);
  for (std::uint64_t priority = 10; priority-- > 0;) {
    EXPECT_EQ(get(), priority + 1);
    EXPECT_EQ(get(), priority + 11);
  }
  EXPECT_EQ(q.processing(), 20U);
}

TEST_F(queue_test, the_earlier_due_goes_first_among_equals_whatever_the_arrival) {
  put(1, 0, seconds{2});
  put(2, 0, seconds{1});
  pass(seconds{3});
  check_update();
  EXPECT_EQ(get_all(), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(queue_test, a_task_due_exactly_now_is_ready) {
  put(1, 0, milliseconds{1});
  pass(milliseconds{1});
  EXPECT_EQ(q.check_due(now.wall), 1U);
}

TEST_F(queue_test, check_due_moves_no_more_than_its_limit) {
  for (std::uint64_t n = 1; n <= 10; ++n)
    put(n, 0, seconds{1});
  pass(seconds{1});
  EXPECT_EQ(q.check_due(now.wall, 4), 4U);
  EXPECT_EQ(q.ready(), 4U);
  EXPECT_EQ(q.delayed(), 6U);
}

// -- the story of pyspider's scheduler test ------------------------------------------------------

TEST_F(queue_test, merges_leases_timeouts_and_completions_follow_each_other_as_in_pyspider) {
  constexpr std::uint64_t a1 = 1, a2 = 2, a3 = 3, a4 = 4;
  put(a3, 2, milliseconds{500});
  put(a4, 3, milliseconds{200});
  put(a2, 0);
  put(a1, 1);
  EXPECT_EQ(q.size(), 4U);

  put(a2, 4);
  put(a3, 2);
  EXPECT_EQ(q.size(), 4U);

  EXPECT_EQ(get(), a2);
  EXPECT_EQ(q.size(), 4U);

  check_update();
  EXPECT_EQ(get(), a3);

  pass(milliseconds{300});
  check_update();
  EXPECT_EQ(get(), a4);
  EXPECT_EQ(get(), a1);

  pass(milliseconds{500});
  check_update();
  EXPECT_EQ(get(), a2);
  EXPECT_EQ(get(), a4);
  EXPECT_EQ(get(), a3);
  EXPECT_EQ(get(), a1);
  EXPECT_EQ(q.size(), 4U);

  EXPECT_TRUE(q.settled(key(a2)));
  EXPECT_TRUE(q.settled(key(a1)));
  EXPECT_EQ(q.size(), 2U);
  EXPECT_TRUE(q.settled(key(a4)));
  EXPECT_TRUE(q.settled(key(a3)));
  EXPECT_EQ(q.size(), 0U);
}

// -- put and reposition --------------------------------------------------------------------------

TEST_F(queue_test, putting_a_queued_task_again_keeps_the_higher_priority_and_the_earlier_due) {
  put(1, 5, seconds{10});
  EXPECT_EQ(put(1, 3, seconds{20}), put_outcome::moved);
  auto v = q.state_of(key(1));
  EXPECT_EQ(v->position.priority, 5);
  EXPECT_EQ(v->position.due, now.wall + seconds{10});
  EXPECT_EQ(v->position.arrival, 1U);
  put(1, 7, seconds{5});
  v = q.state_of(key(1));
  EXPECT_EQ(v->position.priority, 7);
  EXPECT_EQ(v->position.due, now.wall + seconds{5});
}

TEST_F(queue_test, raising_a_priority_with_a_past_due_sorts_again) {
  put(1, 1);
  put(2, 2);
  put(3, 0);
  put(3, 9, seconds{-100});
  EXPECT_EQ(get_all(), (std::vector<std::uint64_t>{3, 2, 1}));
}

TEST_F(queue_test, a_restart_with_a_later_due_postpones_a_waiting_task) {
  put(1, 0);
  EXPECT_EQ(q.reposition(key(1), at(0, seconds{30}), now.wall), put_outcome::moved);
  EXPECT_EQ(state(1), queue_state::delayed);
  EXPECT_EQ(get(), 0U);
  q.reposition(key(1), at(0, seconds{60}), now.wall);
  EXPECT_EQ(*q.next_due(), now.wall + seconds{60});
  q.reposition(key(1), at(0), now.wall);
  EXPECT_EQ(get(), 1U);
}

TEST_F(queue_test, a_restart_can_lower_a_priority) {
  put(1, 9);
  put(2, 5);
  q.reposition(key(1), at(1), now.wall);
  EXPECT_EQ(get_all(), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(queue_test, a_restart_of_an_unknown_task_queues_it) {
  EXPECT_EQ(q.reposition(key(1), at(0), now.wall), put_outcome::queued);
  EXPECT_EQ(get(), 1U);
}

TEST_F(queue_test, a_restart_during_a_crawl_counts_when_the_lease_runs_out) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  EXPECT_EQ(q.reposition(key(1), at(4, seconds{30}), now.wall), put_outcome::deferred);
  EXPECT_EQ(state(1), queue_state::processing);
  ASSERT_TRUE(q.state_of(key(1))->after);
  pass(timeout);
  q.expire(now);
  const auto v = q.state_of(key(1));
  EXPECT_EQ(v->state, queue_state::delayed);
  EXPECT_EQ(v->position.priority, 4);
  EXPECT_EQ(judge(token(l)), lease_verdict::ok);
}

TEST_F(queue_test, a_put_during_a_crawl_is_not_lost_and_several_merge) {
  put(1, 0);
  q.lease(now, timeout);
  EXPECT_EQ(put(1, 2, seconds{90}), put_outcome::deferred);
  EXPECT_EQ(put(1, 1, seconds{60}), put_outcome::deferred);
  const auto after = q.state_of(key(1))->after;
  ASSERT_TRUE(after);
  EXPECT_EQ(after->priority, 2);
  EXPECT_EQ(after->due, now.wall + seconds{60});
}

// -- erase ---------------------------------------------------------------------------------------

TEST_F(queue_test, a_task_can_be_cancelled_in_every_state) {
  put(1, 9);
  put(2, 8);
  put(3, 0);
  put(4, 0, seconds{30});
  EXPECT_EQ(get(), 1U);
  EXPECT_EQ(get(), 2U);
  ASSERT_TRUE(q.begin_settle(key(2)));
  for (std::uint64_t n = 1; n <= 4; ++n) {
    EXPECT_TRUE(q.erase(key(n)));
    EXPECT_FALSE(q.contains(key(n)));
    EXPECT_FALSE(q.erase(key(n)));
  }
  EXPECT_TRUE(q.empty());
  EXPECT_FALSE(q.next_due());
  EXPECT_FALSE(q.next_deadline());
}

// -- leases --------------------------------------------------------------------------------------

TEST_F(queue_test, an_empty_queue_hands_nothing_out_and_uses_no_lease_number) {
  EXPECT_FALSE(q.lease(now, timeout));
  put(1, 0);
  EXPECT_EQ(q.lease(now, timeout)->number, 1U);
}

TEST_F(queue_test, a_rebuilt_queue_goes_on_with_the_lease_numbers_of_the_old_one) {
  task_queue rebuilt{41};
  rebuilt.put(key(1), at(0), now.wall);
  EXPECT_EQ(rebuilt.lease(now, timeout)->number, 42U);
}

TEST_F(queue_test, lease_number_zero_is_never_handed_out) {
  task_queue old{0xFFFFFFFF};
  old.put(key(1), at(0), now.wall);
  EXPECT_EQ(old.lease(now, timeout)->number, 1U);
}

TEST_F(queue_test, a_lease_shows_who_holds_it_and_until_when) {
  put(1, 0);
  q.lease(now, seconds{60}, std::make_shared<const std::string>("fetcher-1"));
  const auto v = q.state_of(key(1));
  EXPECT_EQ(v->state, queue_state::processing);
  EXPECT_EQ(v->consumer, "fetcher-1");
  EXPECT_EQ(v->deadline, now.wall + seconds{60});
  EXPECT_EQ(*q.next_deadline(), now.mono + seconds{60});
}

TEST_F(queue_test, a_report_with_the_current_lease_is_good_and_with_an_older_one_stale) {
  put(1, 0);
  const auto first = *q.lease(now, timeout);
  EXPECT_EQ(judge(token(first)), lease_verdict::ok);
  pass(timeout);
  EXPECT_EQ(q.expire(now), (std::vector<task_key>{key(1)}));
  EXPECT_EQ(judge(token(first)), lease_verdict::ok) << "late, but nobody else has the task";
  const auto second = *q.lease(now, timeout);
  EXPECT_EQ(judge(token(first)), lease_verdict::stale);
  EXPECT_EQ(judge(token(second)), lease_verdict::ok);
}

TEST_F(queue_test, a_report_of_another_task_or_epoch_is_stale_and_of_an_unknown_task_unknown) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  EXPECT_EQ(q.judge(key(1), token(2, l.number), epoch), lease_verdict::stale);
  EXPECT_EQ(judge(token(1, l.number, epoch - 1)), lease_verdict::stale);
  EXPECT_EQ(judge(token(1, l.number, epoch + 1)), lease_verdict::stale);
  EXPECT_EQ(judge(token(9, l.number)), lease_verdict::unknown);
}

TEST_F(queue_test, without_a_token_a_report_needs_a_lease_in_this_run) {
  put(1, 0);
  EXPECT_EQ(judge(1), lease_verdict::not_leased);
  q.lease(now, timeout);
  EXPECT_EQ(judge(1), lease_verdict::ok);
  pass(timeout);
  q.expire(now);
  EXPECT_EQ(judge(1), lease_verdict::ok);
  EXPECT_EQ(judge(2), lease_verdict::unknown);
}

TEST_F(queue_test, a_task_loaded_at_the_start_takes_the_report_of_before_until_handed_out) {
  q.put(key(1), at(0), now.wall, true);
  EXPECT_EQ(judge(token(1, 99, epoch - 1)), lease_verdict::ok);
  EXPECT_EQ(judge(1), lease_verdict::ok);
  EXPECT_EQ(judge(token(1, 99, epoch + 1)), lease_verdict::stale);
  const auto l = *q.lease(now, timeout);
  EXPECT_EQ(judge(token(1, 99, epoch - 1)), lease_verdict::stale);
  EXPECT_EQ(judge(token(l)), lease_verdict::ok);
  q.release(key(1), {}, now.wall);
  EXPECT_EQ(judge(token(1, 99, epoch - 1)), lease_verdict::stale);
}

TEST_F(queue_test, a_token_of_before_the_start_is_stale_for_a_task_that_came_after_it) {
  put(1, 0);
  EXPECT_EQ(judge(token(1, 99, epoch - 1)), lease_verdict::stale);
}

TEST_F(queue_test, leases_run_out_in_order_of_deadline_and_an_extended_one_later) {
  put(1, 9);
  put(2, 8);
  put(3, 7);
  q.lease(now, seconds{10});
  q.lease(now, seconds{20});
  q.lease(now, seconds{30});
  EXPECT_TRUE(q.extend(key(1), now, seconds{40}));
  EXPECT_EQ(*q.next_deadline(), now.mono + seconds{20});
  pass(seconds{30});
  EXPECT_EQ(q.expire(now, 1), (std::vector<task_key>{key(2)}));
  EXPECT_EQ(q.expire(now), (std::vector<task_key>{key(3)}));
  EXPECT_EQ(state(1), queue_state::processing);
  EXPECT_FALSE(q.extend(key(2), now, seconds{40}));
  EXPECT_FALSE(q.extend(key(77), now, seconds{40}));
}

TEST_F(queue_test, a_lease_can_be_shortened) {
  put(1, 0);
  put(2, 0);
  q.lease(now, seconds{10});
  q.lease(now, seconds{20});
  q.extend(key(2), now, seconds{1});
  EXPECT_EQ(*q.next_deadline(), now.mono + seconds{1});
}

TEST_F(queue_test,
       a_step_of_the_wall_clock_ends_no_lease_and_a_timed_out_task_is_ready_despite_one) {
  put(1, 0);
  q.lease(now, timeout);
  now.wall += std::chrono::hours{24 * 365};
  EXPECT_TRUE(q.expire(now).empty());
  now.wall -= 2 * std::chrono::hours{24 * 365};
  now.mono += timeout;
  EXPECT_EQ(q.expire(now).size(), 1U);
  EXPECT_EQ(state(1), queue_state::ready);
}

TEST_F(queue_test, a_released_task_keeps_its_place_and_its_lease_is_stale) {
  put(1, 5);
  put(2, 5);
  const auto l = *q.lease(now, timeout);
  EXPECT_TRUE(q.holds(token(l), epoch));
  EXPECT_TRUE(q.release(key(1), {}, now.wall));
  EXPECT_FALSE(q.holds(token(l), epoch));
  EXPECT_EQ(judge(token(l)), lease_verdict::stale);
  EXPECT_EQ(judge(1), lease_verdict::not_leased);
  EXPECT_EQ(get(), 1U);
  EXPECT_FALSE(q.release(key(2), {}, now.wall));
}

TEST_F(queue_test, a_task_released_with_a_delay_waits_that_long) {
  put(1, 0);
  get();
  q.release(key(1), seconds{5}, now.wall);
  EXPECT_EQ(state(1), queue_state::delayed);
  EXPECT_EQ(*q.next_due(), now.wall + seconds{5});
}

TEST_F(queue_test, a_restart_during_a_crawl_counts_when_the_task_is_released) {
  put(1, 0);
  get();
  q.reposition(key(1), at(3, seconds{60}), now.wall);
  q.release(key(1), seconds{5}, now.wall);
  const auto v = q.state_of(key(1));
  EXPECT_EQ(v->position.priority, 3);
  EXPECT_EQ(v->position.due, now.wall + seconds{60});
}

TEST_F(queue_test, holding_needs_the_right_number_and_epoch) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  EXPECT_FALSE(q.holds(token(1, l.number + 1), epoch));
  EXPECT_FALSE(q.holds(token(1, l.number, epoch - 1), epoch));
  pass(timeout);
  q.expire(now);
  EXPECT_FALSE(q.holds(token(l), epoch)) << "ran out";
}

// -- settling ------------------------------------------------------------------------------------

TEST_F(queue_test, while_a_report_is_being_committed_a_second_is_stale_and_nothing_runs_out) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  EXPECT_TRUE(q.begin_settle(key(1)));
  EXPECT_FALSE(q.begin_settle(key(1)));
  EXPECT_EQ(judge(token(l)), lease_verdict::stale);
  EXPECT_EQ(judge(1), lease_verdict::stale);
  EXPECT_EQ(q.processing(), 1U);
  EXPECT_FALSE(q.next_deadline());
  pass(seconds{3600});
  EXPECT_TRUE(q.expire(now).empty());
  EXPECT_FALSE(q.extend(key(1), now, timeout));
  EXPECT_FALSE(q.release(key(1), {}, now.wall));
}

TEST_F(queue_test, a_failed_commit_leaves_the_lease_as_it_was) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  q.begin_settle(key(1));
  EXPECT_TRUE(q.abort_settle(key(1), now.wall));
  EXPECT_FALSE(q.abort_settle(key(1), now.wall));
  EXPECT_EQ(state(1), queue_state::processing);
  EXPECT_EQ(judge(token(l)), lease_verdict::ok);
  pass(timeout);
  EXPECT_EQ(q.expire(now).size(), 1U);
}

TEST_F(queue_test, a_late_report_whose_commit_fails_leaves_the_task_waiting) {
  put(1, 3);
  const auto l = *q.lease(now, timeout);
  pass(timeout);
  q.expire(now);
  EXPECT_TRUE(q.begin_settle(key(1)));
  EXPECT_EQ(get(), 0U) << "it is not handed out while its report is being committed";
  q.abort_settle(key(1), now.wall);
  EXPECT_EQ(state(1), queue_state::ready);
  EXPECT_EQ(judge(token(l)), lease_verdict::ok);
}

TEST_F(queue_test, a_restart_that_arrives_while_a_late_report_fails_to_commit_is_kept) {
  q.put(key(1), at(0), now.wall, true);
  q.begin_settle(key(1));
  EXPECT_EQ(q.reposition(key(1), at(2, seconds{60}), now.wall), put_outcome::deferred);
  q.abort_settle(key(1), now.wall);
  EXPECT_EQ(state(1), queue_state::delayed);
}

TEST_F(queue_test, a_retry_is_queued_behind_its_peers_and_the_old_lease_is_stale) {
  put(1, 0);
  const auto l = *q.lease(now, timeout);
  put(2, 0);
  q.begin_settle(key(1));
  EXPECT_TRUE(q.requeue(key(1), at(0), now.wall));
  EXPECT_EQ(judge(token(l)), lease_verdict::stale);
  EXPECT_EQ(judge(1), lease_verdict::not_leased);
  EXPECT_EQ(get_all(), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(queue_test, a_retry_of_a_task_loaded_at_the_start_takes_no_second_report_of_before) {
  q.put(key(1), at(0), now.wall, true);
  q.begin_settle(key(1));
  q.requeue(key(1), at(0, seconds{30}), now.wall);
  EXPECT_EQ(judge(token(1, 99, epoch - 1)), lease_verdict::stale);
  EXPECT_EQ(judge(1), lease_verdict::not_leased);
}

TEST_F(queue_test, requeue_works_from_every_state_and_only_for_known_tasks) {
  put(1, 0);
  EXPECT_TRUE(q.requeue(key(1), at(0, seconds{1}), now.wall));
  EXPECT_EQ(state(1), queue_state::delayed);
  EXPECT_TRUE(q.requeue(key(1), at(0), now.wall));
  get();
  EXPECT_TRUE(q.requeue(key(1), at(0), now.wall));
  EXPECT_EQ(state(1), queue_state::ready);
  EXPECT_FALSE(q.next_deadline());
  EXPECT_FALSE(q.requeue(key(2), at(0), now.wall));
}

// -- extremes ------------------------------------------------------------------------------------

TEST_F(queue_test, extreme_positions_and_timeouts_do_not_overflow) {
  q.put(key(1), {wall_time::max(), INT32_MAX, 1}, now.wall);
  q.put(key(2), {wall_time::min(), INT32_MIN, 2}, now.wall);
  EXPECT_EQ(q.delayed(), 1U);
  EXPECT_EQ(q.lease(now, usec::max())->key, key(2));
  EXPECT_EQ(*q.next_deadline(), mono_time::max());
  EXPECT_TRUE(q.release(key(2), usec::max(), now.wall));
  EXPECT_EQ(q.delayed(), 2U);
}

TEST_F(queue_test, a_cleared_queue_can_be_filled_again) {
  put(1, 0);
  get();
  put(2, 0, seconds{1});
  q.clear();
  EXPECT_EQ(q.size(), 0U);
  EXPECT_EQ(q.processing(), 0U);
  put(3, 0);
  EXPECT_EQ(get(), 3U);
}

TEST_F(queue_test, a_hundred_thousand_tasks_come_and_go_in_order) {
  constexpr std::uint64_t n = 100'000;
  for (std::uint64_t i = 1; i <= n; ++i)
    put(i * 4096, 0); // what one of many projects sees of a shard's numbers
  for (std::uint64_t i = 1; i <= n; ++i) {
    ASSERT_EQ(get(), i * 4096);
    if (i % 3 == 0) {
      ASSERT_TRUE(q.settled(key(i * 4096)));
    }
  }
  EXPECT_EQ(q.size(), n - n / 3);
  for (std::uint64_t i = 1; i <= n; ++i)
    ASSERT_EQ(q.contains(key(i * 4096)), i % 3 != 0);
}

// -- against a model -----------------------------------------------------------------------------

/// The same rules over a std::map, with scans in place of heaps.
struct model {
  struct entry {
    queue_position at;
    queue_state state = queue_state::ready;
    mono_time deadline{};
    std::optional<queue_position> after;
  };
  std::map<std::uint64_t, entry> all;

  void place(entry& e, wall_time now) {
    e.state = e.at.due <= now ? queue_state::ready : queue_state::delayed;
  }
  void end(entry& e) {
    if (e.after) e.at = {e.after->due, e.after->priority, e.at.arrival};
    e.after.reset();
  }
  std::uint64_t best() const {
    const std::pair<const std::uint64_t, entry>* top = nullptr;
    for (const auto& x : all) {
      if (x.second.state != queue_state::ready) continue;
      const auto rank = [](const auto& y) {
        return std::tuple(-std::int64_t{y.second.at.priority}, y.second.at.due,
                          y.second.at.arrival);
      };
      if (top == nullptr || rank(x) < rank(*top)) top = &x;
    }
    return top == nullptr ? 0 : top->first;
  }
  std::size_t count(queue_state s) const {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [s](const auto& x) { return x.second.state == s; }));
  }
};

TEST_F(queue_test, random_histories_match_a_simple_model) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    q.clear();
    model m;
    std::mt19937 random{seed};
    const auto pick = [&](int from, int to) {
      return std::uniform_int_distribution<int>{from, to}(random);
    };
    for (int step = 0; step < 3000; ++step) {
      const auto n = static_cast<std::uint64_t>(pick(1, 40 + static_cast<int>(seed) * 20));
      const auto it = m.all.find(n);
      const bool known = it != m.all.end();
      const auto state = known ? it->second.state : queue_state::ready;
      const bool out =
          known && (state == queue_state::processing || state == queue_state::settling);
      switch (pick(0, 8)) {
      case 0: {
        const auto p = at(pick(-3, 3), seconds{pick(-5, 20)});
        q.put(key(n), p, now.wall);
        if (!known) {
          m.place(m.all[n] = {p, {}, {}, {}}, now.wall);
        } else {
          auto& e = it->second;
          auto& target = out && e.after ? *e.after : e.at;
          if (out && !e.after)
            e.after = p;
          else {
            target.priority = std::max(target.priority, p.priority);
            target.due = std::min(target.due, p.due);
          }
          if (!out) m.place(e, now.wall);
        }
        break;
      }
      case 1: {
        const auto p = at(pick(-3, 3), seconds{pick(-5, 20)});
        q.reposition(key(n), p, now.wall);
        if (!known) {
          m.place(m.all[n] = {p, {}, {}, {}}, now.wall);
        } else if (out) {
          it->second.after = p;
        } else {
          it->second.at = {p.due, p.priority, it->second.at.arrival};
          m.place(it->second, now.wall);
        }
        break;
      }
      case 2:
        ASSERT_EQ(q.erase(key(n)), known);
        m.all.erase(n);
        break;
      case 3:
        pass(seconds{pick(0, 3)});
        q.check_due(now.wall);
        for (auto& [k, e] : m.all)
          if (e.state == queue_state::delayed) m.place(e, now.wall);
        break;
      case 4: {
        const auto best = m.best();
        const auto t = seconds{pick(1, 10)};
        const auto l = q.lease(now, t);
        ASSERT_EQ(l ? l->key.seq() : 0, best);
        if (l) {
          m.all[best].state = queue_state::processing;
          m.all[best].deadline = now.mono + t;
        }
        break;
      }
      case 5: {
        std::vector<task_key> expected;
        for (auto& [k, e] : m.all)
          if (e.state == queue_state::processing && e.deadline <= now.mono) {
            expected.push_back(key(k));
            e.state = queue_state::ready;
            if (e.after) {
              m.end(e);
              m.place(e, now.wall);
            }
          }
        auto got = q.expire(now);
        std::sort(got.begin(), got.end());
        ASSERT_EQ(got, expected);
        break;
      }
      case 6: {
        const bool can = known && state != queue_state::settling && state != queue_state::delayed
                         && state != queue_state::ready;
        const auto delay = seconds{pick(0, 5)};
        ASSERT_EQ(q.release(key(n), delay, now.wall), can);
        if (can) {
          m.end(it->second);
          if (delay > usec{0}) it->second.at.due = std::max(it->second.at.due, now.wall + delay);
          m.place(it->second, now.wall);
        }
        break;
      }
      case 7:
        if (state != queue_state::processing || !known) break;
        ASSERT_TRUE(q.begin_settle(key(n)));
        it->second.state = queue_state::settling;
        break;
      case 8: {
        if (state != queue_state::settling || !known) break;
        if (pick(0, 1) == 0) {
          q.abort_settle(key(n), now.wall);
          it->second.state = queue_state::processing;
        } else {
          const auto p = at(pick(-3, 3), seconds{pick(-5, 20)});
          q.requeue(key(n), p, now.wall);
          it->second.at = p;
          it->second.after.reset();
          m.place(it->second, now.wall);
        }
        break;
      }
      }
      ASSERT_EQ(q.size(), m.all.size());
      ASSERT_EQ(q.ready(), m.count(queue_state::ready));
      ASSERT_EQ(q.delayed(), m.count(queue_state::delayed));
      const auto due = q.next_due();
      ASSERT_EQ(due.has_value(), q.delayed() > 0);
    }
    for (const auto& [k, e] : m.all) {
      const auto v = q.state_of(key(k));
      ASSERT_TRUE(v);
      EXPECT_EQ(v->state, e.state);
      EXPECT_EQ(v->position.priority, e.at.priority);
      EXPECT_EQ(v->position.due, e.at.due);
      EXPECT_EQ(v->position.arrival, e.at.arrival);
    }
  }
}

} // namespace
} // namespace lycosa
