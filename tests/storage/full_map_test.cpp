#include "tests/storage/fixture.hpp"

/// A map that fills up, whatever its size and that of the records.
namespace lycosa::storage::test {

namespace {

struct shape {
  std::uint64_t map;
  std::size_t body;
};

class full_map : public ::testing::TestWithParam<shape> {};

result<std::size_t> grow(shard_store& s, const std::string& prefix, std::size_t n,
                         const std::string& body,
                         std::vector<std::pair<std::string, task_key>>* in) {
  auto txn = s.begin();
  if (!txn) return tl::unexpected(txn.error());
  std::vector<std::pair<std::string, task_key>> batch;
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = prefix + "-" + std::to_string(i);
    task t;
    t.taskid = id;
    t.fetch = body;
    auto key = (*txn)->insert(named(id), t, {});
    if (!key) return tl::unexpected(key.error());
    batch.emplace_back(id, *key);
  }
  if (auto ok = (*txn)->commit(commit_class::growth); !ok) return tl::unexpected(ok.error());
  if (in != nullptr) in->insert(in->end(), batch.begin(), batch.end());
  return n;
}

} // namespace

TEST_P(full_map, refuses_growth_as_lack_of_space_and_goes_on_with_the_rest) {
  scratch_dir tmp;
  auto o = options_for(tmp.path());
  o.map_size = GetParam().map;
  auto dir = must(open_data_dir(o));
  auto& s = *dir->shards[0];
  const std::string body(GetParam().body, 'b');
  std::vector<std::pair<std::string, task_key>> in;
  // Smaller and smaller batches, as a client that wants in as much as there is room for.
  for (std::size_t size : {500, 50, 5, 1}) {
    for (int n = 0;; ++n) {
      ASSERT_LT(n, 20'000);
      auto ok = grow(s, std::to_string(size) + "-" + std::to_string(n), size, body, &in);
      if (ok) continue;
      ASSERT_EQ(ok.error().code, errc::no_space) << ok.error().text();
      break;
    }
  }
  ASSERT_FALSE(in.empty());
  EXPECT_TRUE(must(s.stats()).low_space);
  // Reports: single ones, as many as a quarter of the tasks at most.
  for (std::size_t i = 0; i < in.size() / 4 + 1; ++i) {
    auto txn = must(s.begin());
    task t;
    t.taskid = in[i].first;
    t.status = task_status::success;
    must(txn->update(named(in[i].first), in[i].second, task_status::active, t, {}));
    must(txn->commit(commit_class::settle));
    if (i % 64 == 0) {
      auto again = grow(s, "more" + std::to_string(i), 500, body, nullptr);
      ASSERT_TRUE(again || again.error().code == errc::no_space) << again.error().text();
    }
  }
  record_batch batch;
  must(s.load(std::vector{in.back().second}, batch, nullptr));
  ASSERT_EQ(batch.items.size(), 1u);
  EXPECT_EQ(batch.items[0].record.fetch, body);
  for (;;) {
    auto txn = must(s.begin());
    const auto n = must(txn->erase_some(project_id{1}, 20));
    must(txn->commit(commit_class::settle));
    if (n == 0) break;
  }
  EXPECT_EQ(must(grow(s, "again", 1, body, nullptr)), 1u);
  EXPECT_FALSE(must(s.stats()).low_space);
}

INSTANTIATE_TEST_SUITE_P(shapes, full_map,
                         ::testing::Values(shape{1 << 20, 100}, shape{1 << 20, 20'000},
                                           shape{4 << 20, 100}, shape{4 << 20, 20'000},
                                           shape{24 << 20, 100}, shape{24 << 20, 10'050},
                                           shape{24 << 20, 20'000}),
                         [](const auto& p) {
                           return std::to_string(p.param.map >> 20) + "MiB_"
                                  + std::to_string(p.param.body) + "B";
                         });

} // namespace lycosa::storage::test
