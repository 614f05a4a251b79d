#include "tests/actors/fixture.hpp"

namespace lycosa::actors::test {
namespace {

/// A catalog whose disk can be full.
class moody_catalog final : public storage::catalog_store {
public:
  explicit moody_catalog(std::unique_ptr<storage::catalog_store> inner)
      : inner_(std::move(inner)) {}

  bool full = false;
  std::string refused; ///< a project that cannot be stored
  int commits = 0;     ///< of projects

  result<std::vector<project_record>> projects() override { return inner_->projects(); }
  result<std::vector<project_record>> put_projects(std::vector<project_record> batch) override {
    ++commits;
    if (full) return fail(errc::no_space, "disk", "no space left");
    for (const auto& p : batch)
      if (p.name == refused) return fail(errc::too_large, p.name, "too large");
    return inner_->put_projects(std::move(batch));
  }
  result<void> erase_project(project_id id) override { return inner_->erase_project(id); }
  result<void> put_blobs(std::string_view space,
                         const std::vector<std::pair<std::string, std::string>>& batch) override {
    if (full) return fail(errc::no_space, "disk", "no space left");
    return inner_->put_blobs(space, batch);
  }
  result<std::string> get_blob(std::string_view space, std::string_view name) override {
    return inner_->get_blob(space, name);
  }
  result<std::vector<std::pair<std::string, std::string>>>
  scan_blobs(std::string_view space, std::string_view after, std::size_t limit) override {
    return inner_->scan_blobs(space, after, limit);
  }

private:
  std::unique_ptr<storage::catalog_store> inner_;
};

class catalog_on_a_moody_disk : public node_fixture {
protected:
  void SetUp() override {
    node_fixture::SetUp();
    stop();
    data = storage::open_memory(shards);
    auto moody = std::make_unique<moody_catalog>(std::move(data->catalog));
    disk = moody.get();
    data->catalog = std::move(moody);
    start({});
  }
  /// Asks for a new project; answered when the node has run.
  std::shared_ptr<std::optional<result<put_project_answer>>> ask_for(std::string name) {
    auto got = std::make_shared<std::optional<result<put_project_answer>>>();
    auto op = std::make_shared<change_project>();
    op->name = std::move(name);
    op->done = promise<put_project_answer>{[got](auto r) { *got = std::move(r); }};
    caf::anon_send(parent, std::move(op));
    return got;
  }
  std::size_t stored() { return disk->scan_blobs("counters", "", 100)->size(); }

  moody_catalog* disk = nullptr;
};

TEST_F(catalog_on_a_moody_disk, what_a_full_disk_refused_is_written_when_there_is_room) {
  running("p");
  running("q");
  disk->full = true;
  submit({make_task("p", "a")});
  advance(2s);
  EXPECT_EQ(stored(), 0u);
  disk->full = false;
  submit({make_task("q", "a")});
  advance(2s);
  EXPECT_EQ(stored(), 2u) << "of p as well, which has counted nothing since";
}

TEST_F(catalog_on_a_moody_disk, what_a_full_disk_refused_is_written_at_the_end) {
  running("p");
  disk->full = true;
  submit({make_task("p", "a")});
  advance(2s);
  disk->full = false;
  stop();
  EXPECT_EQ(stored(), 1u);
}

TEST_F(catalog_on_a_moody_disk, projects_asked_for_together_are_one_commit) {
  std::vector<std::shared_ptr<std::optional<result<put_project_answer>>>> answers;
  for (int i = 0; i < 50; ++i)
    answers.push_back(ask_for("p" + std::to_string(i)));
  disk->commits = 0;
  run();
  EXPECT_LT(disk->commits, 50);
  for (const auto& a : answers)
    EXPECT_TRUE(a->has_value() && a->value().has_value());
  EXPECT_EQ(disk->projects()->size(), 50u);
}

TEST_F(catalog_on_a_moody_disk, one_that_cannot_be_stored_takes_no_other_along) {
  disk->refused = "bad";
  const auto before = ask_for("before"), bad = ask_for("bad"), after = ask_for("after");
  run();
  EXPECT_TRUE(before->value().has_value());
  EXPECT_TRUE(after->value().has_value());
  ASSERT_FALSE(bad->value().has_value());
  EXPECT_EQ(bad->value().error().code, errc::too_large);
  EXPECT_EQ(disk->projects()->size(), 2u);
}

TEST_F(catalog_on_a_moody_disk, a_deletion_that_a_full_disk_refused_is_tried_again) {
  running("p");
  project_patch marked;
  marked.status = project_status::stop;
  marked.group = "delete";
  ASSERT_TRUE(put("p", marked).has_value());
  advance(23h);
  ASSERT_TRUE(projects->find("p"));
  disk->full = true;
  for (int i = 0; i < 120; ++i)
    advance(1min);
  EXPECT_TRUE(projects->find("p")) << "it could not be noted, so it has not happened";
  EXPECT_LT(disk->commits, 200) << "it is not tried without a pause";
  disk->full = false;
  advance(1min);
  advance(1min);
  EXPECT_FALSE(projects->find("p"));
}

TEST_F(catalog_on_a_moody_disk, one_that_is_due_sooner_does_not_wait_for_one_that_is_due_later) {
  stop();
  options o;
  o.delete_time = 0s;
  start(o);
  project_patch marked;
  marked.status = project_status::stop;
  marked.group = "delete";
  disk->refused = "~1"; // what p is called once it is being deleted
  ASSERT_TRUE(put("p", marked).has_value());
  advance(1s); // p is due, is refused, and is tried again in a minute
  ASSERT_TRUE(projects->find("p"));
  ASSERT_TRUE(put("q", marked).has_value());
  advance(1s);
  EXPECT_TRUE(projects->find("p"));
  EXPECT_FALSE(projects->find("q"));
  disk->refused.clear();
  advance(1min);
  EXPECT_FALSE(projects->find("p"));
}

TEST_F(catalog_on_a_moody_disk, a_mark_that_is_taken_back_in_time_deletes_nothing) {
  running("p");
  running("q");
  project_patch marked;
  marked.status = project_status::stop;
  marked.group = "delete";
  ASSERT_TRUE(put("p", marked).has_value());
  ASSERT_TRUE(put("q", marked).has_value());
  advance(23h);
  project_patch unmarked;
  unmarked.group = "keep";
  ASSERT_TRUE(put("p", unmarked).has_value());
  for (int i = 0; i < 120; ++i)
    advance(1min);
  EXPECT_TRUE(projects->find("p"));
  EXPECT_FALSE(projects->find("q"));
}

} // namespace
} // namespace lycosa::actors::test
