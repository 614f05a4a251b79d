#include "storage/lmdb_shard.hpp"
#include "storage/replica_codec.hpp"
#include "storage/replica_digest.hpp"
#include "tests/storage/replica_fixture.hpp"

namespace lycosa::storage::test {

namespace {

void insert_some(shard_store& shard, int first, int count) {
  auto txn = must(shard.begin());
  for (int i = first; i < first + count; ++i) {
    const auto id = "task" + std::to_string(i);
    must(txn->insert(named(id), sample(id), {at(i), i % 3, static_cast<std::uint64_t>(i)}));
  }
  must(txn->commit(commit_class::growth));
}

cluster::entry_id end_of(replica_store& s) {
  return must(s.found()).log.end();
}

} // namespace

TEST(replica_store, a_follower_is_the_same_and_can_take_over) {
  replicated_dir dirs(2);
  insert_some(*dirs.stores->shards[0], 0, 100);
  insert_some(*dirs.stores->shards[1], 100, 10);
  project_record p;
  p.name = "project";
  must(dirs.stores->catalog->put_project(p));
  must(dirs.stores->catalog->put_blobs("jobs", {{"a", "1"}, {"b", "2"}}));
  must(dirs.stores->catalog->put_blobs("jobs", {{"a", ""}}));
  dirs.expect_equal();
  const auto epoch = dirs.stores->shards[0]->epoch();
  const auto dir = dirs.stores->dir;
  dirs.stores.reset();

  // Opened by its own stores, the follower knows all that was committed.
  passing_gate gates[] = {{dirs.follower->shard(0), dirs.leader->shard(0)},
                          {dirs.follower->shard(1), dirs.leader->shard(1)},
                          {dirs.follower->catalog(), dirs.leader->catalog()}};
  for (auto* s : {&dirs.leader->shard(0), &dirs.leader->shard(1), &dirs.leader->catalog()})
    s->follow();
  dirs.follower->shard(0).lead(gates[0]);
  dirs.follower->shard(1).lead(gates[1]);
  dirs.follower->catalog().lead(gates[2]);
  auto o = options_for(dir.substr(0, dir.rfind('/')) + "/follower", 2);
  o.replicas = dirs.follower;
  {
    auto stores = must(open_data_dir(o));
    EXPECT_EQ(must(stores->shards[0]->counts(project_id{1})).active, 100);
    EXPECT_GT(stores->shards[0]->epoch(), epoch);
    EXPECT_EQ(must(stores->catalog->projects()).size(), 1u);
    EXPECT_EQ(must(stores->catalog->get_blob("jobs", "b")), "2");
    EXPECT_FALSE(stores->catalog->get_blob("jobs", "a"));
    insert_some(*stores->shards[0], 200, 5);
  }
  dirs.expect_equal();
}

TEST(replica_store, what_it_holds_is_known_after_a_restart) {
  scratch_dir tmp;
  cluster::entry_id end;
  {
    replicated_dir dirs;
    insert_some(*dirs.stores->shards[0], 0, 10);
    insert_some(*dirs.stores->shards[0], 10, 300); // several rows of the log
    end = end_of(dirs.leader->shard(0));
    EXPECT_EQ(end_of(dirs.follower->shard(0)), end);
    std::filesystem::copy(dirs.stores->dir + "/../follower", tmp / "copy",
                          std::filesystem::copy_options::recursive);
  }
  auto again = must(replica_set::open({tmp / "copy", 1, 256 << 20, true}));
  auto found = must(again->shard(0).found());
  EXPECT_EQ(found.log.end(), end);
  EXPECT_EQ(found.synced, end.lsn);
  EXPECT_EQ(found.log.begin(), 2u);
  EXPECT_FALSE(found.copying);
  const auto batches = must(again->shard(0).read(2, 1 << 30));
  ASSERT_EQ(batches.size(), end.lsn - 1);
  for (std::size_t i = 0; i < batches.size(); ++i)
    EXPECT_EQ(batches[i]->size(), found.log.size_of(2 + i));
}

TEST(replica_store, batches_are_read_up_to_a_limit_and_at_least_one) {
  replicated_dir dirs;
  for (int i = 0; i < 6; ++i)
    insert_some(*dirs.stores->shards[0], i * 10, 10);
  auto& store = dirs.leader->shard(0);
  const auto log = must(store.found()).log;
  const auto last = log.end().lsn;
  EXPECT_EQ(must(store.read(last - 1, 1)).size(), 1u);
  EXPECT_EQ(must(store.read(last - 1, 1 << 20)).size(), 2u);
  EXPECT_TRUE(must(store.read(last + 1, 1 << 20)).empty());
}

TEST(replica_store, the_log_is_trimmed_with_later_commits) {
  replicated_dir dirs;
  for (int i = 0; i < 6; ++i)
    insert_some(*dirs.stores->shards[0], i * 10, 10);
  const auto end = end_of(dirs.leader->shard(0));
  dirs.leader->shard(0).trim(end.lsn - 1);
  dirs.follower->shard(0).trim(end.lsn);
  insert_some(*dirs.stores->shards[0], 100, 10);
  EXPECT_EQ(must(dirs.leader->shard(0).found()).log.begin(), end.lsn);
  EXPECT_EQ(must(dirs.follower->shard(0).found()).log.begin(), end.lsn + 1);
  EXPECT_EQ(end_of(dirs.follower->shard(0)), end_of(dirs.leader->shard(0)));
}

TEST(replica_store, a_refused_commit_changes_nothing) {
  replicated_dir dirs;
  insert_some(*dirs.stores->shards[0], 0, 10);
  const auto end = end_of(dirs.leader->shard(0));
  dirs.gates[0]->refuse = true;
  {
    auto txn = must(dirs.stores->shards[0]->begin());
    must(txn->insert(named("refused"), sample("refused"), {}));
    const auto done = txn->commit(commit_class::growth);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::unavailable);
  }
  EXPECT_EQ(end_of(dirs.leader->shard(0)), end);
  dirs.gates[0]->refuse = false;
  insert_some(*dirs.stores->shards[0], 10, 10);
  EXPECT_EQ(must(dirs.stores->shards[0]->counts(project_id{1})).active, 20);
  dirs.expect_equal();
}

TEST(replica_store, a_commit_that_may_be_undone_is_told_and_memory_agrees_with_the_disk) {
  replicated_dir dirs;
  insert_some(*dirs.stores->shards[0], 0, 10);
  dirs.gates[0]->forget = true;
  {
    auto txn = must(dirs.stores->shards[0]->begin());
    must(txn->insert(named("open"), sample("open"), {}));
    const auto done = txn->commit(commit_class::growth);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::unavailable);
  }
  EXPECT_EQ(must(dirs.stores->shards[0]->counts(project_id{1})).active, 11);
  std::optional<task_slot> slot;
  const auto ref = named("open");
  must(dirs.stores->shards[0]->find({&ref, 1}, {&slot, 1}));
  EXPECT_TRUE(slot);
  dirs.gates[0]->forget = false;
  insert_some(*dirs.stores->shards[0], 10, 10);
  dirs.expect_equal();
}

TEST(replica_store, a_copy_is_of_one_moment_and_survives_being_cut_off) {
  replicated_dir dirs;
  insert_some(*dirs.stores->shards[0], 0, 500);
  auto& from = dirs.leader->shard(0);
  const auto before = everything(*from.env(), shard_table_count);
  auto view = must(from.open_copy(8192));
  ASSERT_GT(view->chunks(), 5u);
  insert_some(*dirs.stores->shards[0], 500, 100);

  scratch_dir tmp;
  auto history = must(from.found()).log.history();
  const cluster::copy_progress begun{{7, 3}, view->at(), 0};
  {
    auto set = must(replica_set::open({tmp / "new", 1, 256 << 20, true}));
    must(set->shard(0).discard(begun));
    for (std::uint32_t i = 0; i < 3; ++i)
      must(set->shard(0).write_chunk(must(view->chunk(i)), nullptr));
  }
  auto set = must(replica_set::open({tmp / "new", 1, 256 << 20, true}));
  auto& to = set->shard(0);
  auto found = must(to.found());
  ASSERT_TRUE(found.copying);
  EXPECT_EQ(found.copying->chunks, 3u);
  EXPECT_EQ(found.copying->id, begun.id);
  EXPECT_FALSE(to.open_copy(4096)) << "not whole";
  for (std::uint32_t i = 3; i < view->chunks(); ++i)
    must(to.write_chunk(must(view->chunk(i)), i + 1 == view->chunks() ? &history : nullptr));
  EXPECT_EQ(everything(*to.env(), shard_table_count), before);
  found = must(to.found());
  EXPECT_FALSE(found.copying);
  EXPECT_EQ(found.log.end(), view->at());
  EXPECT_EQ(found.last_copy, begun.id);
  // What came meanwhile makes it the same as its leader.
  const auto rest = must(from.read(view->at().lsn + 1, 1 << 30));
  auto id = view->at();
  for (const auto& changes : rest) {
    ++id.lsn;
    const replica_store::batch b{{1, id.lsn}, *changes};
    must(to.append({&b, 1}));
  }
  EXPECT_EQ(everything(*to.env(), shard_table_count),
            everything(*from.env(), shard_table_count));
}

TEST(replica_store, an_empty_environment_can_be_copied) {
  scratch_dir tmp;
  auto a = must(replica_set::open({tmp / "a", 1, 256 << 20, true}));
  auto b = must(replica_set::open({tmp / "b", 1, 256 << 20, true}));
  must(a->shard(0).adopt());
  copy_whole(a->shard(0), b->shard(0));
  EXPECT_EQ(end_of(b->shard(0)), (cluster::entry_id{0, 1}));
}

TEST(replica_store, changes_that_do_not_fit_are_refused_whole) {
  replicated_dir dirs;
  insert_some(*dirs.stores->shards[0], 0, 10);
  auto& to = dirs.follower->shard(0);
  const auto before = everything(*to.env(), shard_table_count);
  const auto end = end_of(to);
  change_set odd, missing, foreign;
  odd.put(1, "k", "v");
  missing.put(1, "k", "v");
  missing.erase(1, "not there");
  foreign.put(50, "k", "v");
  for (const auto& changes :
       {odd.take() + "x", missing.take(), foreign.take()}) {
    const replica_store::batch b{{1, end.lsn + 1}, changes};
    const auto done = to.append({&b, 1});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::corrupt) << done.error().text();
  }
  EXPECT_EQ(everything(*to.env(), shard_table_count), before);
  EXPECT_EQ(end_of(to), end);
}

TEST(replica_store, a_directory_of_a_cluster_is_not_opened_by_a_single_node) {
  scratch_dir tmp;
  must(open_data_dir(options_for(tmp / "d")));
  EXPECT_TRUE(holds_data(tmp / "d"));
  EXPECT_FALSE(must(read_cluster_mark(tmp / "d")));
  const cluster_mark mark{"blue crawl", "id 1", must(draw_node_id()), 4};
  must(write_cluster_mark(tmp / "d", mark));
  const auto read = must(read_cluster_mark(tmp / "d"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cluster, mark.cluster);
  EXPECT_EQ(read->id, mark.id);
  EXPECT_EQ(read->node, mark.node);
  EXPECT_EQ(read->shards, 4);
  const auto opened = open_data_dir(options_for(tmp / "d"));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text().find("blue crawl"), std::string::npos) << opened.error().text();
}

TEST(replica_store, digests_tell_whether_copies_are_the_same) {
  replicated_dir dirs(2);
  insert_some(*dirs.stores->shards[0], 0, 20);
  const auto leader = dirs.stores->dir;
  const auto follower = leader.substr(0, leader.rfind('/')) + "/follower";
  const auto a = must(digest_data_dir(leader)), b = must(digest_data_dir(follower));
  ASSERT_EQ(a.size(), 3u);
  ASSERT_EQ(b.size(), 3u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].at, b[i].at);
    EXPECT_EQ(a[i].digest, b[i].digest) << a[i].name;
  }
  EXPECT_NE(a[1].digest, a[2].digest);
  insert_some(*dirs.stores->shards[0], 20, 1);
  EXPECT_NE(must(digest_data_dir(leader))[1].digest, a[1].digest);
}

TEST(replica_store, a_single_nodes_directory_has_a_digest_too) {
  scratch_dir tmp;
  must(open_data_dir(options_for(tmp / "d")));
  EXPECT_EQ(must(digest_data_dir(tmp / "d")).size(), 2u);
  EXPECT_FALSE(digest_data_dir(tmp / "none"));
}

TEST(replica_store, a_directory_that_leaves_its_cluster_keeps_its_tasks_and_forgets_the_log) {
  scratch_dir tmp;
  {
    replicated_dir dirs;
    insert_some(*dirs.stores->shards[0], 0, 20);
    const auto leader = dirs.stores->dir;
    dirs.stores.reset();
    std::filesystem::copy(leader.substr(0, leader.rfind('/')) + "/follower", tmp / "d",
                          std::filesystem::copy_options::recursive);
  }
  EXPECT_FALSE(leave_cluster(tmp / "d")) << "it has not joined any";
  must(write_cluster_mark(tmp / "d", {"c", "id", must(draw_node_id()), 1}));
  must(leave_cluster(tmp / "d"));
  {
    auto alone = must(open_data_dir(options_for(tmp / "d")));
    EXPECT_EQ(must(alone->shards[0]->counts(project_id{1})).active, 20);
  }
  auto set = must(replica_set::open({tmp / "d", 1, 256 << 20, true}));
  EXPECT_EQ(end_of(set->shard(0)), cluster::entry_id{});
  EXPECT_EQ(must(set->shard(0).found()).log.begin(), 1u);
}

// -- messages ------------------------------------------------------------------------------------

TEST(replica_codec, every_kind_comes_back) {
  const std::vector<batch_bytes> batches{std::make_shared<const std::string>("first"),
                                         std::make_shared<const std::string>("")};
  cluster::append_message a{5, {4, 10}, {{{4, 11}, 5}, {{5, 12}, 0}}, 9, 3};
  auto got = must(decode_replica_message(encode_replica_message(7, a, batches, {})));
  EXPECT_EQ(got.environment, 7);
  const auto& b = std::get<cluster::append_message>(got.what);
  EXPECT_EQ(b.epoch, 5u);
  EXPECT_EQ(b.before, (cluster::entry_id{4, 10}));
  ASSERT_EQ(b.batches.size(), 2u);
  EXPECT_EQ(b.batches[1].id, (cluster::entry_id{5, 12}));
  EXPECT_EQ(b.batches[0].bytes, 5u);
  EXPECT_EQ(b.committed, 9u);
  EXPECT_EQ(b.trim, 3u);
  ASSERT_EQ(got.batches.size(), 2u);
  EXPECT_EQ(got.batches[0], "first");

  cluster::state_message s{6, {5, 2}, {4, 10}, 9, true, cluster::copy_progress{{5, 2}, {4, 8}, 3}};
  got = must(decode_replica_message(encode_replica_message(catalog_number, s, {}, {})));
  EXPECT_EQ(got.environment, catalog_number);
  const auto& t = std::get<cluster::state_message>(got.what);
  EXPECT_EQ(t.copy, s.copy);
  EXPECT_EQ(t.end, s.end);
  EXPECT_EQ(t.synced, 9u);
  EXPECT_TRUE(t.gap);
  EXPECT_EQ(t.copying, s.copying);
  s.copying.reset();
  got = must(decode_replica_message(encode_replica_message(0, s, {}, {})));
  EXPECT_FALSE(std::get<cluster::state_message>(got.what).copying);

  cluster::copy_message c{6, {6, 1}, {5, 8}, {{1, 2}, {5, 6}}, 2, 9};
  got = must(decode_replica_message(encode_replica_message(0, c, {}, "piece")));
  const auto& d = std::get<cluster::copy_message>(got.what);
  EXPECT_EQ(d.id, c.id);
  EXPECT_EQ(d.at, c.at);
  EXPECT_EQ(d.history, c.history);
  EXPECT_EQ(d.chunk, 2u);
  EXPECT_EQ(d.chunks, 9u);
  EXPECT_EQ(got.chunk, "piece");

  cluster::candidate_message e{44, {3, 4}, true};
  got = must(decode_replica_message(encode_replica_message(0, e, {}, {})));
  EXPECT_EQ(std::get<cluster::candidate_message>(got.what).version, 44u);
  EXPECT_TRUE(std::get<cluster::candidate_message>(got.what).asks);
}

TEST(replica_codec, damaged_bytes_are_refused) {
  const auto good = encode_replica_message(0, cluster::candidate_message{}, {}, {});
  EXPECT_FALSE(decode_replica_message(""));
  EXPECT_FALSE(decode_replica_message(std::string(64, '\xff')));
  EXPECT_FALSE(decode_replica_message(std::string_view(good).substr(0, 8)));
}

} // namespace lycosa::storage::test
