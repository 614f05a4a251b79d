#include "core/queue_window.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace lycosa {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct disk_order {
  bool operator()(const queue_entry& a, const queue_entry& b) const {
    if (a.position.priority != b.position.priority)
      return a.position.priority > b.position.priority;
    return due_before(a, b);
  }
};

/// A queue behind a window beside one that is all in memory. Whatever happens to one happens to
/// the other; the disk answers when it is told to, as of the moment of the question.
struct two_queues {
  explicit two_queues(std::size_t limit) { window.set_limit(limit); }

  task_queue all;
  task_queue memory;
  queue_window window;
  std::unordered_map<task_key, queue_position> stored;
  std::map<std::uint16_t, std::set<queue_entry, disk_order>> disk;
  std::unordered_set<task_key> touched;
  std::optional<std::pair<queue_window::read, std::vector<queue_entry>>> asked;
  instant now{wall_time{seconds{1'700'000'000}}, mono_time{seconds{1000}}};
  std::uint64_t arrivals = 0;
  std::uint64_t seq = 0;

  void store(task_key key, const queue_position& at) {
    forget(key);
    stored[key] = at;
    disk[key.shard()].insert({key, at});
  }
  void forget(task_key key) {
    if (const auto was = stored.find(key); was != stored.end()) {
      disk[key.shard()].erase({key, was->second});
      stored.erase(was);
    }
  }
  void touch(task_key key) {
    if (asked) touched.insert(key);
  }

  task_key submit(int priority, usec in, std::uint16_t shard = 0) {
    const task_key key{shard, ++seq};
    const queue_position at{now.wall + in, priority, ++arrivals};
    store(key, at);
    all.put(key, at, now.wall);
    if (window.holds({key, at})) memory.put(key, at, now.wall);
    touch(key);
    return key;
  }
  void restart(task_key key, int priority, usec in) {
    queue_position at{now.wall + in, priority, stored.at(key).arrival};
    store(key, at);
    all.reposition(key, at, now.wall);
    if (memory.contains(key) || window.holds({key, at})) memory.reposition(key, at, now.wall);
    touch(key);
  }
  void retry(task_key key, usec in) {
    const queue_position at{now.wall + in, stored.at(key).priority, ++arrivals};
    store(key, at);
    all.requeue(key, at, now.wall);
    memory.requeue(key, at, now.wall);
    touch(key);
  }
  void settle(task_key key) {
    forget(key);
    all.erase(key);
    memory.erase(key);
    touch(key);
  }

  void ask() {
    if (window.too_many(memory.waiting())) {
      for (const auto& e : memory.keep_first(window.limit(), now.wall, [](auto) { return true; })) {
        EXPECT_EQ(stored.at(e.key), e.position) << "dropped where the disk does not have it";
        window.leave(e, now.wall);
      }
      window.dropped(memory.waiting());
    }
    auto read = window.begin_read(memory, now.wall);
    if (!read) return;
    asked.emplace(*read, std::vector<queue_entry>{});
    const auto& order = disk[read->from.key.shard()];
    for (auto i = order.lower_bound(read->from);
         i != order.end() && i->position.priority == read->from.position.priority
         && asked->second.size() < read->limit;
         ++i)
      asked->second.push_back(*i);
  }
  void answer() {
    if (!asked) return;
    auto found = std::move(asked->second);
    window.end_read(found, now.wall);
    for (const auto& e : found)
      if (!touched.contains(e.key)) memory.put_if_new(e.key, e.position, now.wall);
    asked.reset();
    touched.clear();
  }

  /// The next task of both; none = the window waits for the disk, or nothing is ready.
  std::optional<task_key> lease() {
    memory.check_due(now.wall);
    all.check_due(now.wall);
    ask();
    if (window.blocks(memory.first_ready(), now.wall)) return std::nullopt;
    const auto is = memory.lease(now, seconds{30});
    if (!is) return std::nullopt;
    const auto should = all.lease(now, seconds{30});
    EXPECT_TRUE(should);
    if (should) {
      EXPECT_EQ(is->key, should->key);
    }
    touch(is->key);
    return is->key;
  }
  std::optional<task_key> lease_when_read() {
    for (int i = 0; i < 1000; ++i) {
      if (auto key = lease()) return key;
      if (!asked) return std::nullopt;
      answer();
    }
    ADD_FAILURE() << "it reads for ever";
    return std::nullopt;
  }
  void give_back(task_key key, usec delay) {
    all.release(key, delay, now.wall);
    memory.release(key, delay, now.wall);
  }
  void pass(usec d) {
    now.wall += d;
    now.mono += d;
    all.expire(now);
    memory.expire(now);
  }
};

TEST(queue_window, a_queue_that_fits_is_all_in_memory) {
  two_queues q(100);
  for (int i = 0; i < 200; ++i)
    q.submit(i % 3, usec{0});
  q.ask();
  EXPECT_TRUE(q.window.whole());
  EXPECT_EQ(q.memory.size(), 200);
}

TEST(queue_window, a_longer_queue_keeps_the_first_and_comes_in_order) {
  two_queues q(300);
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    q.submit(i % 5, usec{0}, static_cast<std::uint16_t>(i % 2));
    q.ask();
    q.answer();
    most = std::max(most, q.memory.size());
  }
  EXPECT_LE(most, 601);
  std::size_t n = 0;
  while (q.lease_when_read()) {
    ++n;
    most = std::max(most, q.memory.waiting());
  }
  EXPECT_EQ(n, 20'000);
  EXPECT_LE(most, 601);
  EXPECT_TRUE(q.window.whole());
}

TEST(queue_window, a_task_before_the_others_passes_those_on_disk) {
  two_queues q(100);
  for (int i = 0; i < 1000; ++i)
    q.submit(0, usec{0});
  q.ask();
  ASSERT_FALSE(q.window.whole());
  const auto urgent = q.submit(7, usec{0});
  EXPECT_EQ(q.lease_when_read(), urgent);
}

TEST(queue_window, a_delayed_task_on_disk_is_taken_in_when_its_moment_comes) {
  two_queues q(100);
  const auto later = q.submit(9, seconds{60});
  for (int i = 0; i < 1000; ++i)
    q.submit(0, usec{0});
  q.ask();
  ASSERT_FALSE(q.memory.contains(later));
  ASSERT_TRUE(q.window.next_due());
  EXPECT_EQ(*q.window.next_due(), q.now.wall + seconds{60});
  q.pass(seconds{60});
  EXPECT_EQ(q.lease_when_read(), later);
}

TEST(queue_window, what_was_given_back_stays_in_memory_until_its_delay_is_over) {
  two_queues q(100);
  for (int i = 0; i < 300; ++i)
    q.submit(0, usec{0});
  const auto first = q.lease_when_read();
  ASSERT_TRUE(first);
  q.give_back(*first, seconds{10});
  for (int i = 0; i < 300; ++i)
    q.submit(0, usec{0});
  q.ask();
  EXPECT_TRUE(q.memory.contains(*first));
  q.pass(seconds{10});
  std::optional<task_key> last;
  while (const auto key = q.lease_when_read())
    last = key;
  EXPECT_EQ(last, first) << "it is due after the others";
}

TEST(queue_window, another_limit_reads_all_or_drops) {
  two_queues q(100);
  for (int i = 0; i < 5000; ++i)
    q.submit(i % 2, usec{0});
  q.ask();
  ASSERT_FALSE(q.window.whole());
  q.window.set_limit(0);
  for (int i = 0; i < 10; ++i) {
    q.ask();
    q.answer();
  }
  EXPECT_TRUE(q.window.whole());
  EXPECT_EQ(q.memory.size(), 5000);
  q.window.set_limit(1000);
  q.ask();
  q.answer();
  EXPECT_LE(q.memory.size(), 1500);
}

TEST(queue_window, as_at_a_start_heads_alone_are_known) {
  two_queues q(100);
  for (int i = 0; i < 2000; ++i)
    q.submit(i % 4, i % 3 == 0 ? usec{0} : usec{seconds{i % 7}}, static_cast<std::uint16_t>(i % 2));
  q.memory.clear();
  for (const auto& [shard, order] : q.disk)
    for (int priority = 0; priority < 4; ++priority)
      for (const auto& e : order)
        if (e.position.priority == priority) {
          q.window.leave(e, q.now.wall);
          break;
        }
  std::size_t n = 0;
  for (int second = 0; second < 8; ++second) {
    while (q.lease_when_read())
      ++n;
    q.pass(seconds{1});
  }
  EXPECT_EQ(n, 2000);
}

TEST(queue_window, a_failed_read_is_begun_again) {
  two_queues q(50);
  for (int i = 0; i < 500; ++i)
    q.submit(0, usec{0});
  q.ask();
  q.asked.reset();
  while (q.lease() && !q.asked) {
  }
  ASSERT_TRUE(q.asked);
  q.asked.reset();
  q.window.fail_read();
  std::size_t n = 0;
  while (q.lease_when_read())
    ++n;
  EXPECT_GT(n, 400);
}

/// Whatever happens, and whenever the disk answers, the same tasks come in the same order as from
/// a queue that is all in memory.
class queue_window_model : public ::testing::TestWithParam<unsigned> {};

TEST_P(queue_window_model, is_the_queue_it_stands_for) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  two_queues q(std::size_t{20} + random() % 100);
  std::vector<task_key> known, leased;
  const auto any_of = [&](std::vector<task_key>& keys) {
    const auto i = random() % keys.size();
    const auto key = keys[i];
    keys[i] = keys.back();
    keys.pop_back();
    return key;
  };
  for (int step = 0; step < 6000 && !::testing::Test::HasFailure(); ++step) {
    const int what = below(100);
    const bool filling = step / 1000 % 2 == 0;
    if (what < (filling ? 45 : 10)) {
      for (int i = below(8); i >= 0; --i)
        known.push_back(q.submit(below(4) - 2, below(3) == 0 ? milliseconds{below(5000)} : usec{0},
                                 static_cast<std::uint16_t>(below(2))));
    } else if (what < 70) {
      for (int i = below(8); i >= 0; --i)
        if (auto key = q.lease()) leased.push_back(*key);
    } else if (what < 80 && !leased.empty()) {
      const auto key = any_of(leased);
      if (!q.stored.contains(key)) continue;
      if (below(4) == 0)
        q.retry(key, milliseconds{below(3000)});
      else
        q.settle(key);
    } else if (what < 84 && !leased.empty()) {
      q.give_back(any_of(leased), below(2) == 0 ? usec{0} : milliseconds{below(2000)});
    } else if (what < 88 && !known.empty()) {
      const auto key = any_of(known);
      if (q.stored.contains(key)) q.restart(key, below(4) - 2, milliseconds{below(2000)});
    } else if (what < 90 && !known.empty()) {
      q.settle(any_of(known)); // cancelled
    } else if (what < 96) {
      q.ask();
      if (below(2) == 0) q.answer();
    } else {
      q.pass(milliseconds{below(500)});
    }
  }
  for (int second = 0; second < 60; ++second) {
    while (auto key = q.lease_when_read())
      q.settle(*key);
    q.answer();
    q.pass(seconds{1});
  }
  EXPECT_TRUE(q.all.empty());
  EXPECT_TRUE(q.memory.empty());
  EXPECT_TRUE(q.stored.empty());
}

INSTANTIATE_TEST_SUITE_P(seeds, queue_window_model, ::testing::Range(1u, 41u));

} // namespace
} // namespace lycosa
