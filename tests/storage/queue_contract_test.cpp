#include "tests/storage/queue_fixture.hpp"
#include "tests/storage/replica_fixture.hpp"

#include <limits>
#include <random>

/// Queues kept in order, asked of all stores.
namespace lycosa::storage::test {

namespace {

constexpr std::numeric_limits<std::int32_t> priority;
constexpr std::numeric_limits<std::int64_t> time_range;

class ordered_queue : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    if (GetParam() == std::string("lmdb_replicated")) {
      replicas_ = std::make_unique<replicated_dir>(1, 20);
      dir_ = std::move(replicas_->stores);
      return;
    }
    auto o = options_for(tmp_.path());
    if (GetParam() == std::string("lmdb_merging")) o.index_buffer = 20;
    dir_ = GetParam() == std::string("memory") ? open_memory(1) : must(open_data_dir(o));
  }
  void TearDown() override {
    if (replicas_) replicas_->expect_equal();
  }
  shard_store& shard() { return *dir_->shards[0]; }
  task_key add(const std::string& id, queue_position p = {}, std::uint32_t project = 1) {
    return must(insert_one(shard(), id, project, p));
  }
  void expect_in_step(std::uint32_t project = 1, std::size_t page = 3) {
    EXPECT_EQ(read_queue(shard(), project, page), expected_queue(shard(), project));
  }

  scratch_dir tmp_;
  std::unique_ptr<replicated_dir> replicas_; // before the stores that use them
  std::unique_ptr<data_dir> dir_;
};

INSTANTIATE_TEST_SUITE_P(stores, ordered_queue, 
                         ::testing::Values("memory", "lmdb", "lmdb_merging", "lmdb_replicated"),
                         [](const auto& i) { return std::string(i.param); });

} // namespace

TEST_P(ordered_queue, entries_come_by_priority_then_time_then_arrival_then_key) {
  const std::vector<queue_position> in_order{
      {at(time_range.min()), priority.max(), 9},
      {at(time_range.max()), priority.max(), 0},
      {at(5), 256, 0},
      {at(-300), 255, 1},
      {at(-1), 255, 1},
      {at(0), 255, 0},
      {at(0), 255, 1},
      {at(0), 255, std::numeric_limits<std::uint64_t>::max()},
      {at(1), 255, 0},
      {at(7), 0, 3},
      {at(7), 0, 3}, // the same place: by key
      {at(-7), -1, 0},
      {at(0), priority.min(), 1},
      {at(0), priority.min(), 2},
  };
  std::vector<std::size_t> shuffled(in_order.size());
  for (std::size_t i = 0; i < shuffled.size(); ++i)
    shuffled[i] = i;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937{7}); // NOLINT: the same each time
  for (auto i : shuffled)
    add(std::to_string(i), in_order[i]);
  EXPECT_EQ(keep(shard(), 1), in_order.size());
  const auto got = read_queue(shard(), 1);
  ASSERT_EQ(got.size(), in_order.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::get<0>(got[i]), in_order[i].priority) << i;
    EXPECT_EQ(std::get<1>(got[i]), in_order[i].due.time_since_epoch().count()) << i;
    EXPECT_EQ(std::get<2>(got[i]), in_order[i].arrival) << i;
  }
  for (std::size_t page : {1, 2, 100})
    expect_in_step(1, page);
}

TEST_P(ordered_queue, heads_are_the_first_of_each_priority_below_the_one_given) {
  for (std::int32_t p : {priority.min(), -2, 0, 9, priority.max()})
    for (int due : {3, 1, 2})
      add(std::to_string(p) + "/" + std::to_string(due), {at(due), p, 0});
  keep(shard(), 1);
  const auto heads = [&](std::optional<std::int32_t> below, std::size_t limit) {
    std::vector<std::int32_t> out;
    for (const auto& e : must(shard().queue_heads(project_id{1}, below, limit))) {
      EXPECT_EQ(e.position.due, at(1));
      out.push_back(e.position.priority);
    }
    return out;
  };
  using list = std::vector<std::int32_t>;
  EXPECT_EQ(heads(std::nullopt, 10), (list{priority.max(), 9, 0, -2, priority.min()}));
  EXPECT_EQ(heads(std::nullopt, 2), (list{priority.max(), 9}));
  EXPECT_EQ(heads(std::nullopt, 0), list{});
  EXPECT_EQ(heads(priority.max(), 1), list{9});
  EXPECT_EQ(heads(8, 1), list{0});
  EXPECT_EQ(heads(0, 10), (list{-2, priority.min()}));
  EXPECT_EQ(heads(-2, 10), list{priority.min()});
  EXPECT_EQ(heads(priority.min(), 10), list{});
}

TEST_P(ordered_queue, a_scan_goes_on_from_a_place_where_nothing_stands_any_more) {
  std::vector<task_key> keys;
  for (int i = 0; i < 6; ++i)
    keys.push_back(add(std::to_string(i), {at(10 * i), 5, 1}));
  add("other", {at(0), 4, 1});
  keep(shard(), 1);
  const auto dues = [&](active_entry from, std::size_t limit) {
    std::vector<std::int64_t> out;
    for (const auto& e : must(shard().scan_queue(project_id{1}, from, limit)))
      out.push_back(e.position.due.time_since_epoch().count());
    return out;
  };
  using list = std::vector<std::int64_t>;
  const active_entry second{project_id{1}, keys[2], {at(20), 5, 1}};
  EXPECT_EQ(dues(second, 2), (list{20, 30}));
  change(shard(), "2", keys[2], task_status::success);
  EXPECT_EQ(dues(second, 2), (list{30, 40}));
  EXPECT_EQ(dues(second, 0), list{});
  EXPECT_EQ(dues({{}, {}, {at(-1), 5, 0}}, 100), (list{0, 10, 30, 40, 50}));
  EXPECT_EQ(dues({{}, {}, {at(50), 5, 1}}, 100), list{50});
  EXPECT_EQ(dues({{}, {}, {at(51), 5, 0}}, 100), list{});
  EXPECT_EQ(dues({{}, {}, {at(0), 6, 0}}, 100), list{});
  EXPECT_EQ(dues({{}, {}, {at(0), 4, 0}}, 100), list{0});
}

TEST_P(ordered_queue, projects_do_not_see_each_other) {
  keep(shard(), 1);
  keep(shard(), 3);
  for (int i = 0; i < 30; ++i)
    add(std::to_string(i), {at(i % 7), i % 4, static_cast<std::uint64_t>(i)},
        1 + static_cast<std::uint32_t>(i) % 4);
  EXPECT_TRUE(is_kept(shard(), 1));
  EXPECT_FALSE(is_kept(shard(), 2));
  EXPECT_TRUE(is_kept(shard(), 3));
  EXPECT_FALSE(is_kept(shard(), 4));
  keep(shard(), 2);
  for (std::uint32_t p : {1, 2, 3})
    expect_in_step(p);
  keep(shard(), 2, false);
  EXPECT_FALSE(is_kept(shard(), 2));
  for (std::uint32_t p : {1, 3})
    expect_in_step(p);
}

TEST_P(ordered_queue, what_becomes_of_a_task_is_there_with_its_commit) {
  keep(shard(), 1);
  const auto a = add("a", {at(1), 1, 1}), b = add("b", {at(2), 1, 2}), c = add("c", {at(3), 1, 3});
  expect_in_step();
  change(shard(), "a", a, task_status::active, {at(9), -4, 4}); // a retry
  change(shard(), "b", b, task_status::success);
  change(shard(), "c", c, task_status::bad); // cancelled
  EXPECT_EQ(read_queue(shard(), 1), (places{{-4, 9, 4, a.value()}}));
  change(shard(), "b", b, task_status::active, {at(1), 7, 5}, 1, task_status::success);
  EXPECT_EQ(read_queue(shard(), 1), (places{{7, 1, 5, b.value()}, {-4, 9, 4, a.value()}}));
  change(shard(), "b", b, task_status::active, {at(1), 7, 5}); // where it stands
  change(shard(), "c", c, task_status::failed, {}, 1, task_status::bad);
  EXPECT_EQ(read_queue(shard(), 1).size(), 2u);
  // Several changes of one task in one transaction.
  auto txn = must(shard().begin());
  task t;
  t.taskid = "d";
  const auto d = must(txn->insert(named("d"), t, {at(4), 2, 6}));
  must(txn->update(named("d"), d, task_status::active, t, {at(5), 3, 7}));
  t.status = task_status::failed;
  must(txn->update(named("d"), d, task_status::active, t, {}));
  t.status = task_status::active;
  must(txn->update(named("d"), d, task_status::failed, t, {at(6), 4, 8}));
  must(txn->commit(commit_class::growth));
  EXPECT_EQ(read_queue(shard(), 1)[1], (places::value_type{4, 6, 8, d.value()}));
  expect_in_step();
}

TEST_P(ordered_queue, it_is_built_in_slices_while_tasks_come_and_go) {
  std::vector<task_key> keys;
  for (int i = 0; i < 40; ++i)
    keys.push_back(add(std::to_string(i), {at(100 - i), i % 3, 0}));
  bool done = false;
  for (int i = 0; !done; ++i) {
    ASSERT_LT(i, 20);
    EXPECT_FALSE(is_kept(shard(), 1));
    const auto n = static_cast<std::size_t>(i);
    // Of the part that is in and of the part that is not.
    change(shard(), std::to_string(39 - i), keys[39 - n], task_status::success);
    change(shard(), std::to_string(i), keys[n], task_status::failed);
    change(shard(), std::to_string(38 - i), keys[38 - n], task_status::active, {at(i), 5, 1});
    if (i > 0)
      change(shard(), std::to_string(i - 1), keys[n - 1], task_status::active, {at(i), 6, 1}, 1,
             task_status::failed);
    done = step(shard(), 1, true, 5).done;
  }
  EXPECT_TRUE(is_kept(shard(), 1));
  expect_in_step();
}

TEST_P(ordered_queue, building_ends_however_many_come) {
  for (int i = 0; i < 10; ++i)
    add(std::to_string(i), {at(-i), 0, 0});
  int steps = 1;
  for (; !step(shard(), 1, true, 2).done; ++steps) {
    ASSERT_LT(steps, 10);
    for (int i = 0; i < 5; ++i)
      add("new " + std::to_string(steps) + " " + std::to_string(i), {at(i), i, 0});
  }
  expect_in_step();
}

TEST_P(ordered_queue, what_is_so_already_is_done_without_a_change) {
  add("a");
  EXPECT_TRUE(step(shard(), 1, false, 5).done);
  EXPECT_EQ(must(shard().stats()).last_lsn, 1u);
  EXPECT_TRUE(step(shard(), 1, true, 5).done);
  EXPECT_EQ(must(shard().stats()).last_lsn, 2u);
  EXPECT_EQ(step(shard(), 1, true, 5).looked, 0u);
  EXPECT_EQ(must(shard().stats()).last_lsn, 2u);
  EXPECT_TRUE(step(shard(), 1, false, 5).done);
  EXPECT_EQ(must(shard().stats()).last_lsn, 3u);
}

TEST_P(ordered_queue, an_empty_queue_is_in_order_at_once) {
  EXPECT_FALSE(is_kept(shard(), 1));
  EXPECT_TRUE(step(shard(), 1, true, 1).done);
  EXPECT_TRUE(is_kept(shard(), 1));
  EXPECT_TRUE(read_queue(shard(), 1).empty());
  EXPECT_TRUE(step(shard(), 1, false, 1).done);
  EXPECT_FALSE(is_kept(shard(), 1));
}

TEST_P(ordered_queue, it_is_removed_in_slices_while_tasks_come_and_go) {
  std::vector<task_key> keys;
  for (int i = 0; i < 30; ++i)
    keys.push_back(add(std::to_string(i), {at(i), i % 2, 0}));
  keep(shard(), 1);
  bool done = false;
  for (int i = 0; !done; ++i) {
    ASSERT_LT(i, 10);
    done = step(shard(), 1, false, 4).done;
    EXPECT_FALSE(is_kept(shard(), 1));
    const auto n = static_cast<std::size_t>(i);
    change(shard(), std::to_string(29 - i), keys[29 - n], task_status::success);
    change(shard(), std::to_string(i), keys[n], task_status::active, {at(-i), 9, 0});
    for (int j = 0; j < 5; ++j) // more than a step takes out
      add("new " + std::to_string(i) + " " + std::to_string(j));
  }
  EXPECT_TRUE(step(shard(), 1, false, 4).done);
  keep(shard(), 1);
  expect_in_step();
}

TEST_P(ordered_queue, wanted_again_half_way_it_is_built_anew) {
  std::vector<task_key> keys;
  for (int i = 0; i < 30; ++i)
    keys.push_back(add(std::to_string(i), {at(i), i % 2, 0}));
  keep(shard(), 1);
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(step(shard(), 1, false, 7).done);
    const auto n = static_cast<std::size_t>(3 * round);
    change(shard(), std::to_string(n), keys[n], task_status::success); // was taken out
    change(shard(), std::to_string(29 - n), keys[29 - n], task_status::success);
    change(shard(), std::to_string(n + 1), keys[n + 1], task_status::active, {at(50), 2, 0});
    change(shard(), std::to_string(28 - n), keys[28 - n], task_status::active, {at(50), 2, 0});
    add("new " + std::to_string(round), {at(7), 7, 7});
    EXPECT_FALSE(step(shard(), 1, true, 7).done);
    EXPECT_FALSE(is_kept(shard(), 1));
  }
  keep(shard(), 1, true, 7);
  expect_in_step();
  // And no longer, half way there.
  keep(shard(), 1, false);
  EXPECT_FALSE(step(shard(), 1, true, 7).done);
  keep(shard(), 1, false, 7);
  EXPECT_FALSE(is_kept(shard(), 1));
}

TEST_P(ordered_queue, it_goes_with_its_project) {
  for (int half = 0; half < 3; ++half) {
    const std::size_t limit = half == 0 ? 100 : 6; // complete; being built; being removed
    for (int i = 0; i < 20; ++i)
      add(std::to_string(i), {at(i), i % 3, 0});
    add("other " + std::to_string(half), {at(half), 0, 0}, 2);
    keep(shard(), 2);
    if (half == 2) keep(shard(), 1);
    step(shard(), 1, half != 2, limit);
    for (std::size_t n = 1; n != 0;) {
      auto txn = must(shard().begin());
      n = must(txn->erase_some(project_id{1}, 6));
      EXPECT_LE(n, 6u);
      must(txn->commit(commit_class::settle));
      if (half == 0 && n == 6) {
        expect_in_step();
      }
    }
    EXPECT_FALSE(is_kept(shard(), 1));
    expect_in_step(2);
    add("again", {at(1), 1, 1});
    EXPECT_FALSE(is_kept(shard(), 1));
    EXPECT_EQ(keep(shard(), 1), 1u);
    expect_in_step();
    keep(shard(), 1, false);
    auto txn = must(shard().begin());
    must(txn->erase_some(project_id{1}, 100));
    must(txn->commit(commit_class::settle));
  }
}

TEST_P(ordered_queue, nobody_sees_a_transaction_before_its_commit_or_without_one) {
  const auto a = add("a", {at(1), 1, 1});
  task t;
  t.taskid = "a";
  auto txn = must(shard().begin());
  EXPECT_TRUE(must(txn->keep_in_order(project_id{1}, true, 10)).done);
  EXPECT_FALSE(is_kept(shard(), 1));
  txn.reset();
  EXPECT_FALSE(is_kept(shard(), 1));
  // Nothing was remembered of it: what comes now is not taken for taken in.
  add("b", {at(2), 2, 2});
  change(shard(), "a", a, task_status::active, {at(3), 3, 3});
  EXPECT_EQ(keep(shard(), 1), 2u);
  expect_in_step();
  txn = must(shard().begin());
  EXPECT_TRUE(must(txn->keep_in_order(project_id{1}, false, 10)).done);
  must(txn->update(named("a"), a, task_status::active, t, {at(9), 9, 9}));
  expect_in_step();
  txn.reset();
  expect_in_step();
  change(shard(), "a", a, task_status::active, {at(4), 4, 4});
  expect_in_step();
  txn = must(shard().begin());
  must(txn->erase_some(project_id{1}, 10));
  txn.reset();
  expect_in_step();
  EXPECT_EQ(read_queue(shard(), 1).size(), 2u);
}

TEST_P(ordered_queue, a_transaction_builds_with_what_it_has_changed_itself) {
  const auto a = add("a", {at(1), 1, 1}), b = add("b", {at(2), 1, 1});
  auto txn = must(shard().begin());
  task t;
  t.taskid = "c";
  must(txn->insert(named("c"), t, {at(3), 3, 3}));
  t.taskid = "a";
  must(txn->update(named("a"), a, task_status::active, t, {at(4), 4, 4}));
  t.taskid = "b";
  t.status = task_status::success;
  must(txn->update(named("b"), b, task_status::active, t, {}));
  auto did = must(txn->keep_in_order(project_id{1}, true, 1));
  EXPECT_EQ(did.looked, 1u);
  EXPECT_FALSE(did.done);
  t.status = task_status::active;
  must(txn->update(named("b"), b, task_status::success, t, {at(5), 5, 5}));
  for (int i = 0; !did.done && i < 5; ++i)
    did = must(txn->keep_in_order(project_id{1}, true, 1));
  EXPECT_TRUE(did.done);
  t.taskid = "d";
  must(txn->insert(named("d"), t, {at(6), 6, 6}));
  must(txn->commit(commit_class::growth));
  EXPECT_EQ(read_queue(shard(), 1).size(), 4u);
  expect_in_step();
}

TEST_P(ordered_queue, it_stays_in_step_whatever_happens) {
  std::mt19937 random(20); // NOLINT: the same each time
  const auto pick = [&](std::size_t n) { return random() % n; };
  struct known {
    std::string id;
    std::uint32_t project;
    task_key key;
    task_status status;
  };
  std::vector<known> tasks;
  std::array<bool, 4> wanted{};
  const auto some_place = [&] {
    return queue_position{at(static_cast<int>(pick(9)) - 4), static_cast<int>(pick(5)) - 2,
                          pick(3)};
  };
  for (int commit = 0; commit < 300; ++commit) {
    auto txn = must(shard().begin());
    auto then = tasks;
    auto then_wanted = wanted;
    for (auto n = pick(8); n > 0; --n) {
      const auto what = pick(10);
      if (what < 3 || then.empty()) {
        known k{"t" + std::to_string(commit) + "." + std::to_string(n),
                1 + static_cast<std::uint32_t>(pick(3)),
                {},
                all_statuses[pick(6) == 0 ? 1 : 0]};
        task t;
        t.taskid = k.id;
        t.status = k.status;
        k.key = must(txn->insert(named(k.id, k.project), t, some_place()));
        then.push_back(k);
      } else if (what < 8) {
        auto& k = then[pick(then.size())];
        task t;
        t.taskid = k.id;
        t.status = all_statuses[pick(2) == 0 ? 0 : pick(4)];
        must(txn->update(named(k.id, k.project), k.key, k.status, t, some_place()));
        k.status = t.status;
      } else {
        const auto p = 1 + pick(3);
        if (pick(6) == 0) then_wanted[p] = !then_wanted[p];
        must(
            txn->keep_in_order(project_id{static_cast<std::uint32_t>(p)}, then_wanted[p], pick(6)));
      }
    }
    if (pick(5) == 0) continue; // gone without a trace
    must(txn->commit(commit_class::growth));
    tasks = then;
    wanted = then_wanted;
    for (std::uint32_t p : {1, 2, 3})
      if (is_kept(shard(), p)) expect_in_step(p);
  }
  for (std::uint32_t p : {1, 2, 3}) {
    keep(shard(), p, true, 4);
    expect_in_step(p);
  }
}

} // namespace lycosa::storage::test
