#include "tests/storage/fixture.hpp"
#include "tests/storage/replica_fixture.hpp"

/// What every store must do, asked of all: memory, LMDB with two sizes of buffer, and one that
/// leads a replica, which must then be the same.
namespace lycosa::storage::test {

namespace {

class contract : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    if (GetParam() == std::string("lmdb_replicated")) {
      replicas_ = std::make_unique<replicated_dir>(1, 20);
      dir_ = std::move(replicas_->stores);
      return;
    }
    auto o = options_for(tmp_.path());
    // Every commit merges some of the index and leaves some to wait.
    if (GetParam() == std::string("lmdb_merging")) o.index_buffer = 20;
    dir_ = GetParam() == std::string("memory") ? open_memory(1) : must(open_data_dir(o));
  }
  void TearDown() override {
    if (replicas_) replicas_->expect_equal();
  }
  shard_store& shard() { return *dir_->shards[0]; }
  catalog_store& catalog() { return *dir_->catalog; }

  std::optional<task_slot> find(const task_ref& r) {
    std::optional<task_slot> slot;
    must(shard().find({&r, 1}, {&slot, 1}));
    return slot;
  }
  void settle(std::string_view id, task_key key, task_status status) {
    auto txn = must(shard().begin());
    task t;
    t.taskid = id;
    t.status = status;
    must(txn->update(named(id), key, task_status::active, t, {}));
    must(txn->commit(commit_class::settle));
  }
  std::vector<std::string> listed(std::optional<task_status> status, std::size_t limit) {
    std::vector<std::string> ids;
    std::string cursor;
    do {
      auto page = must(shard().list(project_id{1}, status, cursor, limit));
      EXPECT_LE(page.items.items.size(), limit);
      for (const auto& i : page.items.items)
        ids.emplace_back(i.record.taskid);
      cursor = page.next;
    } while (!cursor.empty());
    return ids;
  }

  scratch_dir tmp_;
  std::unique_ptr<replicated_dir> replicas_; // before the stores that use them
  std::unique_ptr<data_dir> dir_;
};

INSTANTIATE_TEST_SUITE_P(stores, contract, 
                         ::testing::Values("memory", "lmdb", "lmdb_merging", "lmdb_replicated"),
                         [](const auto& i) { return std::string(i.param); });

using ids = std::vector<std::string>;

} // namespace

TEST_P(contract, a_record_comes_back_field_by_field) {
  const auto in = sample("a");
  const queue_position p{at(55), -3, 77};
  auto txn = must(shard().begin());
  const auto key = must(txn->insert(named("a"), in, p));
  EXPECT_EQ(must(txn->commit(commit_class::growth)), 1u);
  record_batch batch;
  std::vector<task_key> missing;
  const std::vector keys{key, task_key{0, 999}, task_key{5, key.seq()}};
  must(shard().load(keys, batch, &missing));
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].key, key);
  EXPECT_EQ(batch.items[0].project, project_id{1});
  expect_same(batch.items[0].record, in);
  EXPECT_EQ(missing, (std::vector{keys[1], keys[2]}));
  const auto slot = find(named("a"));
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->key, key);
  EXPECT_EQ(slot->lastcrawltime, in.lastcrawltime);
  EXPECT_EQ(slot->itag_hash, hash_itag("v1"));
  EXPECT_EQ(slot->generation, 9u);
  const auto queued = must(shard().scan_active(project_id{1}, std::nullopt, 10));
  ASSERT_EQ(queued.size(), 1u);
  EXPECT_EQ(queued[0].position.due, p.due);
  EXPECT_EQ(queued[0].position.priority, p.priority);
  EXPECT_EQ(queued[0].position.arrival, p.arrival);
}

TEST_P(contract, an_absent_itag_is_not_an_empty_one) {
  auto txn = must(shard().begin());
  task t;
  t.taskid = "none";
  const auto none = must(txn->insert(named("none"), t, {}));
  t.taskid = "empty";
  t.sched.itag = "";
  const auto empty = must(txn->insert(named("empty"), t, {}));
  must(txn->commit(commit_class::growth));
  record_batch batch;
  must(shard().load(std::vector{none, empty}, batch, nullptr));
  ASSERT_EQ(batch.items.size(), 2u);
  EXPECT_FALSE(batch.items[0].record.sched.itag);
  EXPECT_EQ(batch.items[0].record.sched.age, std::chrono::seconds{-1});
  EXPECT_EQ(batch.items[1].record.sched.itag, "");
  EXPECT_EQ(find(named("none"))->itag_hash, 0u);
  EXPECT_NE(find(named("empty"))->itag_hash, 0u);
}

TEST_P(contract, large_records_and_long_batches_keep_their_views) {
  const std::string big(1 << 20, 'x');
  auto txn = must(shard().begin());
  std::vector<task_key> keys;
  for (int i = 0; i < 200; ++i) {
    const auto id = "t" + std::to_string(i);
    task t;
    t.taskid = id;
    if (i % 50 == 0) t.fetch = big;
    keys.push_back(must(txn->insert(named(id), t, {})));
  }
  must(txn->commit(commit_class::growth));
  record_batch loaded;
  must(shard().load(keys, loaded, nullptr));
  const auto batch = std::move(loaded);
  ASSERT_EQ(batch.items.size(), 200u);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(batch.items[i].record.taskid, "t" + std::to_string(i));
    EXPECT_EQ(batch.items[i].record.fetch.size(), i % 50 == 0 ? big.size() : 0);
  }
}

TEST_P(contract, a_transaction_sees_itself_and_nobody_else_does) {
  auto txn = must(shard().begin());
  const auto key = must(txn->insert(named("a"), sample("a"), {at(5), 1, 2}));
  std::optional<task_slot> slot;
  const auto r = named("a");
  must(txn->find({&r, 1}, {&slot, 1}));
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->key, key);
  record_batch batch;
  const auto position = must(txn->load(key, batch));
  ASSERT_TRUE(position);
  EXPECT_EQ(position->due, at(5));
  EXPECT_FALSE(find(r));
  EXPECT_EQ(must(shard().counts(project_id{1})).active, 0);
  txn.reset();
  EXPECT_FALSE(find(r));
  EXPECT_EQ(must(shard().stats()).tasks, 0u);
  EXPECT_EQ(must(shard().stats()).last_lsn, 0u);
}

TEST_P(contract, finding_many_answers_in_the_order_asked) {
  auto txn = must(shard().begin());
  std::vector<task_ref> refs;
  std::vector<std::optional<task_key>> keys;
  for (int i = 0; i < 300; ++i) {
    const auto id = std::to_string(i);
    refs.push_back(named(id, 1 + i % 3));
    keys.emplace_back();
    if (i % 2 == 0) keys.back() = must(txn->insert(refs.back(), sample(id), {}));
  }
  std::vector<std::optional<task_slot>> inside(refs.size()), outside(refs.size());
  must(txn->find(refs, inside));
  must(txn->commit(commit_class::growth));
  must(shard().find(refs, outside));
  for (std::size_t i = 0; i < refs.size(); ++i) {
    ASSERT_EQ(inside[i].has_value(), keys[i].has_value());
    ASSERT_EQ(outside[i].has_value(), keys[i].has_value());
    if (keys[i]) {
      EXPECT_EQ(inside[i]->key, *keys[i]);
      EXPECT_EQ(outside[i]->key, *keys[i]);
    }
  }
}

TEST_P(contract, an_update_moves_the_task_between_listings_and_counts) {
  const auto a = must(insert_one(shard(), "a"));
  must(insert_one(shard(), "b"));
  settle("a", a, task_status::success);
  EXPECT_EQ(listed(task_status::active, 10), ids{"b"});
  EXPECT_EQ(listed(task_status::success, 10), ids{"a"});
  auto c = must(shard().counts(project_id{1}));
  EXPECT_EQ(c.active, 1);
  EXPECT_EQ(c.success, 1);
  auto txn = must(shard().begin());
  task t;
  t.taskid = "a";
  t.generation = 1;
  must(txn->update(named("a"), a, task_status::success, t, {at(9), 4, 8}));
  must(txn->update(named("a"), a, task_status::active, t, {at(10), 5, 9}));
  must(txn->commit(commit_class::growth));
  EXPECT_EQ(listed(task_status::active, 10), (ids{"a", "b"}));
  EXPECT_EQ(must(shard().scan_active(project_id{1}, std::nullopt, 1))[0].position.due, at(10));
  c = must(shard().counts(project_id{1}));
  EXPECT_EQ(c.active, 2);
  EXPECT_EQ(c.success, 0);
  EXPECT_EQ(find(named("a"))->generation, 1u);
  EXPECT_EQ(must(shard().stats()).active, 2u);
}

TEST_P(contract, a_listing_in_pages_is_in_order_of_arrival_and_survives_changes) {
  std::vector<task_key> keys;
  ids all;
  for (int i = 0; i < 25; ++i) {
    all.push_back("t" + std::to_string(i));
    keys.push_back(must(insert_one(shard(), all.back())));
    must(insert_one(shard(), all.back(), 2));
  }
  for (int i = 0; i < 25; i += 3)
    settle(all[i], keys[i], task_status::failed);
  for (int i = 1; i < 25; i += 3)
    settle(all[i], keys[i], task_status::bad);
  EXPECT_EQ(listed(std::nullopt, 4), all);
  EXPECT_EQ(listed(std::nullopt, 25), all);
  EXPECT_EQ(listed(task_status::failed, 2).size(), 9u);
  // A cursor stays good when what it was made at is gone.
  const auto first = must(shard().list(project_id{1}, task_status::active, "", 2));
  settle(std::string(first.items.items[1].record.taskid), first.items.items[1].key,
         task_status::success);
  const auto second = must(shard().list(project_id{1}, task_status::active, first.next, 100));
  EXPECT_EQ(second.items.items.size(), 6u);
  EXPECT_EQ(second.items.items[0].record.taskid, "t8");
}

TEST_P(contract, a_cursor_of_something_else_is_refused) {
  must(insert_one(shard(), "a"));
  for (const char* bad : {"x", "00000000000000000g", "020000000000000001", "01"}) {
    const auto page = shard().list(project_id{1}, task_status::active, bad, 1);
    ASSERT_FALSE(page) << bad;
    EXPECT_EQ(page.error().code, errc::invalid_argument);
  }
  const auto results = shard().list_results(project_id{1}, "12", 1);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, errc::invalid_argument);
}

TEST_P(contract, the_queue_is_scanned_from_where_it_was_left) {
  std::vector<task_key> keys;
  for (int i = 0; i < 10; ++i)
    keys.push_back(must(insert_one(shard(), std::to_string(i))));
  std::vector<task_key> seen;
  std::optional<task_key> after;
  for (;;) {
    const auto part = must(shard().scan_active(project_id{1}, after, 3));
    if (part.empty()) break;
    for (const auto& e : part)
      seen.push_back(e.key);
    after = part.back().key;
  }
  EXPECT_EQ(seen, keys);
  EXPECT_TRUE(must(shard().scan_active(project_id{2}, std::nullopt, 3)).empty());
}

TEST_P(contract, results_are_stored_replaced_and_listed_without_their_task) {
  auto txn = must(shard().begin());
  for (int i = 0; i < 7; ++i)
    must(txn->put_result(named(std::to_string(i)),
                         {std::to_string(i), R"({"n":)" + std::to_string(i) + "}", at(i)}));
  must(txn->put_result(named("3"), {"3", "null", at(100)}));
  must(txn->put_result(named("3", 2), {"3", "2", at(1)}));
  must(txn->commit(commit_class::growth));
  const auto three = must(shard().get_result(named("3")));
  ASSERT_TRUE(three);
  EXPECT_EQ(three->json, "null");
  EXPECT_EQ(three->taskid, "3");
  EXPECT_EQ(three->updatetime, at(100));
  EXPECT_FALSE(must(shard().get_result(named("9"))));
  std::set<std::string> seen;
  std::string cursor;
  do {
    auto page = must(shard().list_results(project_id{1}, cursor, 2));
    for (auto& r : page.items)
      EXPECT_TRUE(seen.insert(r.taskid).second);
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(must(shard().stats()).results, 8u);
}

TEST_P(contract, a_project_is_erased_in_slices_and_leaves_the_others_alone) {
  auto txn = must(shard().begin());
  for (int i = 0; i < 20; ++i) {
    const auto id = std::to_string(i);
    const auto key = must(txn->insert(named(id), sample(id), {}));
    task done;
    done.taskid = id;
    done.status = task_status::success;
    if (i % 2 == 0) must(txn->update(named(id), key, task_status::active, done, {}));
    must(txn->put_result(named(id), {id, "1", {}}));
  }
  must(txn->insert(named("other", 2), sample("other"), {}));
  must(txn->put_result(named("other", 2), {"other", "1", {}}));
  must(txn->commit(commit_class::growth));
  std::size_t erased = 0;
  for (int slices = 0; slices < 100; ++slices) {
    txn = must(shard().begin());
    const auto n = must(txn->erase_some(project_id{1}, 6));
    EXPECT_LE(n, 6u);
    must(txn->commit(commit_class::settle));
    if (n == 0) break;
    erased += n;
  }
  EXPECT_EQ(erased, 40u);
  EXPECT_TRUE(listed(std::nullopt, 10).empty());
  EXPECT_FALSE(find(named("1")));
  EXPECT_EQ(must(shard().counts(project_id{1})).success, 0);
  const auto stats = must(shard().stats());
  EXPECT_EQ(stats.tasks, 1u);
  EXPECT_EQ(stats.active, 1u);
  EXPECT_EQ(stats.results, 1u);
}

TEST_P(contract, a_key_is_never_given_out_twice) {
  const auto first = must(insert_one(shard(), "a"));
  auto txn = must(shard().begin());
  must(txn->erase_some(project_id{1}, 10));
  must(txn->commit(commit_class::settle));
  EXPECT_GT(must(insert_one(shard(), "a")), first);
}

TEST_P(contract, each_commit_with_changes_gets_the_next_number) {
  must(insert_one(shard(), "a"));
  must(insert_one(shard(), "b"));
  auto txn = must(shard().begin());
  EXPECT_EQ(must(txn->commit(commit_class::growth)), 2u); // nothing changed
  EXPECT_EQ(must(shard().stats()).last_lsn, 2u);
}

TEST_P(contract, broken_preconditions_are_errors_without_a_trace) {
  const auto a = must(insert_one(shard(), "a"));
  auto txn = must(shard().begin());
  EXPECT_FALSE(txn->insert(named("a"), sample("a"), {}));
  txn.reset();
  txn = must(shard().begin());
  task t;
  t.taskid = "a";
  const auto wrong = txn->update(named("a"), a, task_status::failed, t, {});
  ASSERT_FALSE(wrong);
  txn.reset();
  txn = must(shard().begin());
  record_batch batch;
  const auto gone = txn->load(task_key{0, 77}, batch);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, errc::not_found);
  txn.reset();
  EXPECT_EQ(must(shard().counts(project_id{1})).active, 1);
}

TEST_P(contract, settled_tasks_go_oldest_first_or_by_age_and_leave_nothing_behind) {
  const auto settle_at = [&](const std::string& id, task_status status, std::int64_t second) {
    const auto key = must(insert_one(shard(), id));
    auto txn = must(shard().begin());
    task t;
    t.taskid = id;
    t.status = status;
    t.updatetime = at(second * 1'000'000);
    must(txn->update(named(id), key, task_status::active, t, {}));
    must(txn->commit(commit_class::settle));
  };
  const auto sweep = [&](settled_sweep what, std::size_t limit) {
    auto txn = must(shard().begin());
    const auto out = must(txn->erase_settled(project_id{1}, what, limit));
    must(txn->commit(commit_class::settle));
    return out;
  };
  settle_at("a", task_status::failed, 50);
  settle_at("b", task_status::success, 10);
  settle_at("c", task_status::bad, 60);
  must(insert_one(shard(), "waits"));
  settle_at("d", task_status::success, 70);
  settle_at("e", task_status::success, 20);

  // By number: the oldest by arrival, whatever their status.
  settled_sweep by_count;
  by_count.excess = 2;
  EXPECT_EQ(sweep(by_count, 1).erased, 1u);
  EXPECT_EQ(listed(std::nullopt, 10), (ids{"b", "c", "waits", "d", "e"}));
  EXPECT_FALSE(find(named("a")));
  EXPECT_EQ(must(shard().counts(project_id{1})).failed, 0);

  // By age, a piece at a time; the cursor comes to the end.
  settled_sweep by_age;
  by_age.older_than = at(65'000'000);
  std::size_t erased = 0;
  for (sweep_outcome out; erased < 10;) {
    out = sweep(by_age, 1);
    erased += out.erased;
    by_age.status = out.status;
    by_age.after = out.after;
    if (out.end) break;
  }
  EXPECT_EQ(erased, 3u);
  EXPECT_EQ(listed(std::nullopt, 10), (ids{"waits", "d"}));
  const auto left = must(shard().counts(project_id{1}));
  EXPECT_EQ(left.active, 1);
  EXPECT_EQ(left.success, 1);
  EXPECT_EQ(left.bad, 0);
  // What was removed is new when it comes again.
  must(insert_one(shard(), "b"));
  EXPECT_EQ(listed(task_status::active, 10), (ids{"waits", "b"}));
}

TEST_P(contract, projects_get_numbers_that_are_never_used_again) {
  project_record p;
  p.name = "one";
  p.status = project_status::running;
  p.rate = 0.1;
  p.script = "print()";
  p.retry = retry_policy{{{0, usec{5}}, {3, usec{7}}}, usec{9}};
  const auto one = must(catalog().put_project(p));
  EXPECT_EQ(one.id, project_id{1});
  const auto twice = catalog().put_project(p);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, errc::conflict);
  auto changed = one;
  changed.deleting = true;
  must(catalog().put_project(changed));
  const auto all = must(catalog().projects());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].deleting);
  EXPECT_EQ(all[0].name, "one");
  EXPECT_EQ(all[0].rate, 0.1);
  EXPECT_EQ(all[0].script, "print()");
  ASSERT_TRUE(all[0].retry);
  EXPECT_EQ(all[0].retry->table, p.retry->table);
  EXPECT_EQ(all[0].retry->otherwise, usec{9});
  must(catalog().erase_project(one.id));
  EXPECT_TRUE(must(catalog().projects()).empty());
  EXPECT_EQ(must(catalog().put_project(p)).id, project_id{2});
  const auto gone = catalog().erase_project(one.id);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, errc::not_found);
}

TEST_P(contract, projects_are_stored_all_or_none) {
  const auto named = [](std::string name) {
    project_record p;
    p.name = std::move(name);
    return p;
  };
  const auto stored = must(catalog().put_projects({named("a"), named("b"), named("c")}));
  ASSERT_EQ(stored.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(stored[i].id, project_id{i + 1});
  const auto refused = catalog().put_projects({named("d"), named("b"), named("e")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::conflict);
  EXPECT_FALSE(catalog().put_projects({named("d"), named("d")})) << "a name twice in one batch";
  EXPECT_EQ(must(catalog().projects()).size(), 3u);
  EXPECT_EQ(must(catalog().put_project(named("d"))).id, project_id{4});
  // A name that is given up is free for the next of the same batch.
  auto moved = stored[0];
  moved.name = "~1";
  const auto both = must(catalog().put_projects({moved, named("a")}));
  EXPECT_EQ(both[1].id, project_id{5});
  EXPECT_TRUE(must(catalog().put_projects({})).empty());
}

TEST_P(contract, blobs_live_in_spaces_and_come_in_order) {
  must(catalog().put_blobs("jobs", {{"b", "2"}, {"a", "1"}, {"c", "3"}}));
  must(catalog().put_blobs("jobs2", {{"z", "9"}}));
  must(catalog().put_blobs("jobs", {{"c", ""}, {"nothing", ""}}));
  EXPECT_EQ(must(catalog().get_blob("jobs", "a")), "1");
  EXPECT_EQ(catalog().get_blob("jobs", "c").error().code, errc::not_found);
  using list = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(must(catalog().scan_blobs("jobs", "", 10)), (list{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(must(catalog().scan_blobs("jobs", "a", 10)), (list{{"b", "2"}}));
  EXPECT_EQ(must(catalog().scan_blobs("jobs", "", 1)), (list{{"a", "1"}}));
  EXPECT_TRUE(must(catalog().scan_blobs("none", "", 1)).empty());
  EXPECT_FALSE(catalog().put_blobs("jobs", {{std::string(600, 'n'), "1"}}));
}

} // namespace lycosa::storage::test
