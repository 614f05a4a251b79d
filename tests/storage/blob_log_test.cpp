#include "storage/blob_log.hpp"
#include "storage/memory_catalog.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

namespace lycosa::storage {
namespace {

/// A catalog that can be told to refuse writes, and counts them.
class fickle_catalog final : public catalog_store {
public:
  result<std::vector<project_record>> projects() override { return inner_.projects(); }
  result<std::vector<project_record>> put_projects(std::vector<project_record> batch) override {
    return inner_.put_projects(std::move(batch));
  }
  result<void> erase_project(project_id id) override { return inner_.erase_project(id); }
  result<void> put_blobs(std::string_view space, const blob_changes& batch) override {
    if (refusing) return fail(errc::no_space, "catalog", "full");
    ++commits;
    written += batch.size();
    return inner_.put_blobs(space, batch);
  }
  result<std::string> get_blob(std::string_view space, std::string_view name) override {
    return inner_.get_blob(space, name);
  }
  result<blob_changes> scan_blobs(std::string_view space, std::string_view after,
                                  std::size_t limit) override {
    return inner_.scan_blobs(space, after, limit);
  }

  bool refusing = false;
  std::size_t commits = 0, written = 0;

private:
  memory_catalog inner_;
};

class blob_log_test : public testing::Test {
protected:
  blob_log_test() { reopen(); }

  /// As after a crash: only what was committed is known.
  void reopen() {
    log_ = std::make_unique<blob_log>(catalog_, "s", "l");
    ASSERT_TRUE(log_->open().has_value());
  }
  void put(blob_changes placed, blob_changes scattered) {
    for (const auto* part : {&placed, &scattered})
      for (const auto& [name, value] : *part)
        value.empty() ? (void)model_.erase(name) : (void)(model_[name] = value);
    ASSERT_TRUE(log_->put(std::move(placed), std::move(scattered)).has_value());
  }
  void compare() {
    for (const auto limit : {7u, 10'000u}) {
      std::map<std::string, std::string> seen;
      std::string after = "m"; // past the log's own records
      for (;;) {
        const auto piece = log_->scan(after, limit);
        ASSERT_TRUE(piece.has_value());
        for (const auto& [name, value] : *piece) {
          ASSERT_GT(name, after);
          after = name;
          seen[name] = value;
        }
        if (piece->size() < limit) break;
      }
      ASSERT_EQ(seen, model_);
    }
    for (int i = 0; i < 300; ++i) {
      const auto name = "x" + std::to_string(i);
      const auto got = log_->get(name);
      const auto want = model_.find(name);
      ASSERT_EQ(got.has_value(), want != model_.end()) << name;
      if (got) {
        ASSERT_EQ(*got, want->second) << name;
      }
    }
  }
  std::size_t records() {
    std::size_t n = 0;
    const auto all = catalog_.scan_blobs("s", "", 1'000'000);
    for (const auto& [name, value] : *all)
      n += name.front() == 'l';
    return n;
  }

  fickle_catalog catalog_;
  std::unique_ptr<blob_log> log_;
  std::map<std::string, std::string> model_;
};

TEST_F(blob_log_test, a_quiet_one_writes_in_place) {
  put({{"x1", "a"}}, {{"x2", "b"}, {"x3", "c"}});
  EXPECT_EQ(log_->waiting(), 0u);
  EXPECT_EQ(records(), 0u);
  compare();
}

TEST_F(blob_log_test, many_changes_are_one_record_and_reach_their_places_in_time) {
  blob_changes many;
  for (int i = 0; i < 20'000; ++i)
    many.emplace_back("x" + std::to_string(i), "v");
  put({}, many);
  EXPECT_EQ(catalog_.written, 1u);
  compare();
  for (int i = 0; i < 100 && log_->waiting() > 0; ++i) {
    const auto before = catalog_.written;
    put({}, {{"x0", std::to_string(i)}});
    EXPECT_LE(catalog_.written - before, blob_log::slice + 3);
  }
  EXPECT_EQ(log_->waiting(), 0u);
  EXPECT_EQ(records(), 0u);
  compare();
  reopen();
  compare();
}

TEST_F(blob_log_test, is_what_a_map_is_whatever_comes_and_whenever_it_ends) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) {
      return std::uniform_int_distribution<unsigned>(0, n - 1)(random);
    };
    for (int step = 0; step < 120; ++step) {
      std::map<std::string, std::string> placed, scattered;
      const auto change = [&] {
        return std::pair{"x" + std::to_string(below(3000)),
                         below(4) == 0 ? std::string() : std::to_string(random())};
      };
      const auto busy = below(3) == 0;
      for (auto n = below(busy ? 2000 : 10); n > 0; --n)
        scattered.insert(change());
      for (auto n = below(20); n > 0; --n)
        if (auto c = change(); !scattered.contains(c.first)) placed.insert(std::move(c));
      put({placed.begin(), placed.end()}, {scattered.begin(), scattered.end()});
      if (below(10) == 0) reopen();
      if (below(8) == 0) {
        ASSERT_NO_FATAL_FAILURE(compare()) << seed << ", " << step;
      }
    }
    ASSERT_NO_FATAL_FAILURE(compare()) << seed;
  }
}

TEST_F(blob_log_test, a_refused_commit_changes_nothing) {
  blob_changes many;
  for (int i = 0; i < 5000; ++i)
    many.emplace_back("x" + std::to_string(i), "old");
  put({}, many);
  put({}, {{"x1", "older"}});
  compare();
  catalog_.refusing = true;
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(log_->put({{"x2", "new"}}, {{"x3", "new"}}).has_value());
  EXPECT_FALSE(log_->put({}, many).has_value());
  compare();
  catalog_.refusing = false;
  put({{"x2", "new"}}, {{"x3", "new"}});
  compare();
  reopen();
  compare();
}

TEST_F(blob_log_test, a_damaged_record_is_told) {
  ASSERT_TRUE(catalog_.put_blobs("s", {{"l12345678", "not a record"}}).has_value());
  blob_log damaged(catalog_, "s", "l");
  const auto opened = damaged.open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::corrupt);
}

} // namespace
} // namespace lycosa::storage
