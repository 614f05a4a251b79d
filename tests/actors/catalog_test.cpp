#include "tests/actors/fixture.hpp"

namespace lycosa::actors::test {
namespace {

/// A catalog whose disk can be full.
class moody_catalog final : public storage::catalog_store {
public:
  explicit moody_catalog(std::unique_ptr<storage::catalog_store> inner)
      : inner_(std::move(inner)) {}

  bool full = false;

  result<std::vector<project_record>> projects() override { return inner_->projects(); }
  result<project_record> put_project(const project_record& p) override {
    return inner_->put_project(p);
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

class catalog_counters : public node_fixture {
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
  std::size_t stored() { return disk->scan_blobs("counters", "", 100)->size(); }

  moody_catalog* disk = nullptr;
};

TEST_F(catalog_counters, what_a_full_disk_refused_is_written_when_there_is_room) {
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

TEST_F(catalog_counters, what_a_full_disk_refused_is_written_at_the_end) {
  running("p");
  disk->full = true;
  submit({make_task("p", "a")});
  advance(2s);
  disk->full = false;
  stop();
  EXPECT_EQ(stored(), 1u);
}

} // namespace
} // namespace lycosa::actors::test
