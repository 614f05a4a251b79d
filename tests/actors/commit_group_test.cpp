#include "actors/commit_group.hpp"
#include "storage/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lycosa::actors::test {

namespace {

using namespace std::chrono_literals;

constexpr wall_time now{1'700'000'000s};

/// A store whose disk can be filled up and whose commits can be made to fail.
class moody_store final : public storage::shard_store {
public:
  explicit moody_store(storage::shard_store& inner) : inner_(&inner) {}

  bool full_for_growth = false;
  bool full_for_settle = false;
  bool broken = false;
  int reserves_released = 0;

  result<std::unique_ptr<storage::write_txn>> begin() override {
    auto txn = inner_->begin();
    if (!txn) return txn;
    return std::make_unique<moody_txn>(*this, std::move(*txn));
  }
  result<void> load(std::span<const task_key> keys, storage::record_batch& out,
                    std::vector<task_key>* missing) override {
    return inner_->load(keys, out, missing);
  }
  result<void> find(std::span<const storage::task_ref> refs,
                    std::span<std::optional<task_slot>> out) override {
    return inner_->find(refs, out);
  }
  result<storage::page<storage::record_batch>> list(project_id p, std::optional<task_status> s,
                                                    std::string_view c, std::size_t n) override {
    return inner_->list(p, s, c, n);
  }
  result<std::vector<storage::active_entry>> scan_active(project_id p, std::optional<task_key> a,
                                                         std::size_t n) override {
    return inner_->scan_active(p, a, n);
  }
  result<order_state> order_of(project_id p) override { return inner_->order_of(p); }
  result<std::vector<storage::active_entry>>
  queue_heads(project_id p, std::optional<std::int32_t> below, std::size_t n) override {
    return inner_->queue_heads(p, below, n);
  }
  result<std::vector<storage::active_entry>>
  scan_queue(project_id p, const storage::active_entry& from, std::size_t n) override {
    return inner_->scan_queue(p, from, n);
  }
  result<status_counts> counts(project_id p) override { return inner_->counts(p); }
  result<std::optional<storage::result_entry>> get_result(const storage::task_ref& r) override {
    return inner_->get_result(r);
  }
  result<storage::page<std::vector<storage::result_entry>>>
  list_results(project_id p, std::string_view c, std::size_t n) override {
    return inner_->list_results(p, c, n);
  }
  result<storage::shard_stats> stats() override { return inner_->stats(); }
  bool release_reserve() override {
    reserves_released += 1;
    return std::exchange(full_for_settle, false);
  }
  [[nodiscard]] usec last_sync() const override { return 5ms; }
  [[nodiscard]] std::uint64_t epoch() const override { return inner_->epoch(); }

private:
  class moody_txn final : public storage::write_txn {
  public:
    moody_txn(moody_store& store, std::unique_ptr<storage::write_txn> inner)
        : store_(store), inner_(std::move(inner)) {}
    result<void> find(std::span<const storage::task_ref> refs,
                      std::span<std::optional<task_slot>> out) override {
      return inner_->find(refs, out);
    }
    result<std::optional<queue_position>> load(task_key key, storage::record_batch& out) override {
      return inner_->load(key, out);
    }
    result<task_key> insert(const storage::task_ref& ref, const task& record,
                            const queue_position& at) override {
      return inner_->insert(ref, record, at);
    }
    result<void> update(const storage::task_ref& ref, task_key key, task_status old,
                        const task& record, const queue_position& at) override {
      return inner_->update(ref, key, old, record, at);
    }
    result<void> put_result(const storage::task_ref& ref,
                            const storage::result_entry& entry) override {
      return inner_->put_result(ref, entry);
    }
    result<std::size_t> erase_some(project_id p, std::size_t n) override {
      return inner_->erase_some(p, n);
    }
    result<sweep_outcome> erase_settled(project_id p, const settled_sweep& sweep,
                                        std::size_t n) override {
      return inner_->erase_settled(p, sweep, n);
    }
    result<storage::order_step> keep_in_order(project_id p, bool wanted, std::size_t n) override {
      return inner_->keep_in_order(p, wanted, n);
    }
    result<std::uint64_t> commit(storage::commit_class kind) override {
      if (store_.broken) return fail(errc::io_error, "disk", "input/output error");
      const bool full = kind == storage::commit_class::growth
                            ? store_.full_for_growth || store_.full_for_settle
                            : store_.full_for_settle;
      if (full) return fail(errc::no_space, "disk", "no space left");
      return inner_->commit(kind);
    }

  private:
    moody_store& store_;
    std::unique_ptr<storage::write_txn> inner_;
  };

  storage::shard_store* inner_;
};

class CommitGroup : public ::testing::Test {
protected:
  submit_op_ptr submit(std::vector<std::string> ids) {
    auto op = std::make_shared<submit_op>();
    op->facts = facts;
    op->at = now;
    op->part = std::make_shared<submit_part>();
    auto owned = std::make_shared<std::vector<std::string>>(std::move(ids));
    op->part->buffer = owned;
    for (const auto& id : *owned) {
      task t;
      t.project = "p";
      t.taskid = id;
      t.url = "http://example.com/";
      op->part->items.push_back({t, 0});
    }
    for (const auto& item : op->part->items)
      op->items.push_back(
          {&item.record, item.index, hash_task("p", item.record.taskid), ++arrival});
    return op;
  }

  report_op_ptr report(std::string_view id, task_key key) {
    auto op = std::make_shared<report_op>();
    op->facts = facts;
    op->part = std::make_shared<report_part>();
    report_item said;
    said.project = "p";
    said.pack.taskid = id;
    said.pack.process_ok = true;
    said.pack.track = "{}";
    op->part->items.push_back(said);
    report_op::item item;
    item.said = &op->part->items[0];
    item.key = key;
    op->items.push_back(item);
    return op;
  }

  task_key stored(const std::string& id) {
    auto op = submit({id});
    group.add(op, {});
    group.commit(now);
    group.clear();
    EXPECT_FALSE(op->failure);
    return op->outcomes.at(0).key;
  }

  std::int64_t active() { return store.counts(facts->id)->active; }

  std::unique_ptr<storage::data_dir> data = storage::open_memory(1);
  moody_store store{*data->shards[0]};
  facts_ptr facts = [] {
    auto p = std::make_shared<project_record>();
    p->id = project_id{1};
    p->name = "p";
    return p;
  }();
  commit_group group{store, retry_policy{}};
  std::uint64_t arrival = 0;
};

TEST_F(CommitGroup, OneCommitCarriesOutEverythingGathered) {
  auto a = submit({"a", "b"});
  auto b = submit({"b", "c"});
  group.add(a, {});
  group.add(b, {});
  group.commit(now);
  EXPECT_EQ(a->outcomes[1].what, accept_outcome::created);
  EXPECT_EQ(b->outcomes[0].what, accept_outcome::ignored) << "it sees what the first has written";
  EXPECT_EQ(b->outcomes[1].what, accept_outcome::created);
  EXPECT_EQ(active(), 3);
  EXPECT_EQ(b->counts.active, 3);
}

TEST_F(CommitGroup, TheMomentTheListWasTakenOrdersItNotTheMomentOfTheCommit) {
  auto op = submit({"a"});
  op->at = now - 3s;
  group.add(op, {});
  group.commit(now);
  EXPECT_EQ(op->outcomes[0].position.due, now - 3s);
}

TEST_F(CommitGroup, AFullStoreRefusesSubmitsAndStillTakesReports) {
  const auto key = stored("a");
  store.full_for_growth = true;
  auto more = submit({"b"});
  auto settle = report("a", key);
  group.add(more, {});
  group.add(settle, {});
  group.commit(now);
  ASSERT_TRUE(more->failure);
  EXPECT_EQ(more->failure->code, errc::no_space);
  EXPECT_FALSE(settle->failure);
  EXPECT_EQ(settle->outcomes[0].what, report_outcome::done);
  EXPECT_EQ(store.counts(facts->id)->success, 1);
  EXPECT_EQ(active(), 0);
  group.clear();
  store.full_for_growth = false;
  auto again = submit({"b"});
  group.add(again, {});
  group.commit(now);
  EXPECT_EQ(again->outcomes[0].what, accept_outcome::created) << "it goes on without a restart";
}

TEST_F(CommitGroup, AFullStoreTakesAQueueOutOfOrderAndPutsNoneInOrder) {
  const auto order = [](project_id project, bool wanted) {
    auto op = std::make_shared<order_op>();
    op->project = project;
    op->wanted = wanted;
    op->limit = 100;
    return op;
  };
  stored("a");
  auto made = order(facts->id, true);
  group.add(made, {});
  group.commit(now);
  group.clear();
  ASSERT_TRUE(made->done);
  store.full_for_growth = true;
  auto removed = order(facts->id, false);
  auto wanted = order(project_id{2}, true);
  group.add(removed, {});
  group.add(wanted, {});
  group.commit(now);
  EXPECT_FALSE(removed->failure);
  EXPECT_TRUE(removed->done);
  ASSERT_TRUE(wanted->failure);
  EXPECT_EQ(wanted->failure->code, errc::no_space);
  EXPECT_EQ(*store.order_of(facts->id), order_state::none);
}

TEST_F(CommitGroup, TheReserveIsGivenUpForReports) {
  const auto key = stored("a");
  store.full_for_settle = true;
  auto settle = report("a", key);
  group.add(settle, {});
  group.commit(now);
  EXPECT_EQ(store.reserves_released, 1);
  EXPECT_FALSE(settle->failure);
}

TEST_F(CommitGroup, TellsHowLongTheDiskTookIfItWasWrittenTo) {
  group.add(submit({"a"}), {});
  group.commit(now);
  EXPECT_EQ(group.synced(), 5ms);
  group.clear();
  store.broken = true;
  group.add(submit({"b"}), {});
  group.commit(now);
  EXPECT_EQ(group.synced(), 0s);
}

TEST_F(CommitGroup, AnInputOutputErrorFailsEverythingAndChangesNothing) {
  const auto key = stored("a");
  store.broken = true;
  auto more = submit({"b"});
  auto settle = report("a", key);
  group.add(more, {});
  group.add(settle, {});
  group.commit(now);
  EXPECT_EQ(more->failure->code, errc::io_error);
  EXPECT_EQ(settle->failure->code, errc::io_error);
  EXPECT_EQ(active(), 1);
}

TEST_F(CommitGroup, AReportOfAnotherTaskThanTheLeaseSaysIsRejected) {
  const auto key = stored("a");
  auto wrong = report("b", key);
  group.add(wrong, {});
  group.commit(now);
  EXPECT_FALSE(wrong->outcomes[0].error.empty());
  EXPECT_EQ(active(), 1);
}

TEST_F(CommitGroup, AReportOfAVanishedTaskAsksTheQueueToForgetIt) {
  auto lost = report("a", task_key{0, 999});
  group.add(lost, {});
  group.commit(now);
  EXPECT_FALSE(lost->outcomes[0].error.empty());
  EXPECT_TRUE(lost->outcomes[0].forget);
}

} // namespace

} // namespace lycosa::actors::test
