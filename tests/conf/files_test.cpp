#include "conf/keys.hpp"
#include "conf/load.hpp"
#include "conf/print.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace lycosa;
using namespace lycosa::conf;

namespace {

std::filesystem::path conf_dir() {
  return std::filesystem::path{LYCOSA_SOURCE_DIR} / "conf";
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>{in}, {}};
}

loaded load_text(const std::string& text) {
  auto pattern = (std::filesystem::temp_directory_path() / "lycosa-conf-XXXXXX").string();
  std::filesystem::path dir = ::mkdtemp(pattern.data());
  std::ofstream{dir / "x.toml"} << text;
  load_request r;
  r.file = (dir / "x.toml").string();
  auto out = load(r);
  std::filesystem::remove_all(dir);
  if (out) return *out;
  ADD_FAILURE() << out.error().front().text() << "\n" << text;
  return {};
}

} // namespace

TEST(reference, is_in_step_with_the_code) {
  EXPECT_EQ(read(conf_dir() / "reference.toml"), reference())
      << "write it anew: lycosa config print --reference > conf/reference.toml";
}

TEST(reference, loads_to_the_defaults_and_names_every_key) {
  auto c = load_text(reference());
  EXPECT_EQ(print(c), print(loaded{}));
  for (const auto& key : all_keys())
    EXPECT_TRUE(c.sources.contains(key.path())) << key.path();
}

TEST(key_table, has_each_key_once_in_a_known_section_with_a_default_that_is_allowed) {
  std::set<std::string> seen;
  for (const auto& key : all_keys()) {
    EXPECT_TRUE(seen.insert(key.path()).second) << key.path();
    EXPECT_FALSE(key.meaning.empty()) << key.path();
    EXPECT_TRUE(std::ranges::any_of(all_sections(), [&](const auto& s) {
      return s.name == key.section;
    })) << key.path();
  }
}

TEST(print, reads_back_to_the_same_settings) {
  load_request r;
  r.search = false;
  r.sets = {"node.name=\"a\\\"b\\\\c\\nd\"",
            "node.data=dätä",
            "http.max_body=3000000",
            "limits.task=123456",
            "storage.commit_interval=1500us",
            R"(scheduler.default_retry_delay={"7" = 0.5, "" = 5})",
            R"(log.levels={http = "debug", "odd name" = "off"})",
            "redis.url=redis://x/0",
            "caf.scheduler.max-threads=3",
            "caf.middleman.enable=true",
            "caf.ratio=0.5"};
  auto first = load(r);
  ASSERT_TRUE(first.has_value()) << first.error().front().text();
  auto again = load_text(print(*first));
  EXPECT_EQ(print(again), print(*first));
  EXPECT_EQ(again.values.node.name, "a\"b\\c\nd");
  EXPECT_EQ(again.values.caf, first->values.caf);
  EXPECT_EQ(again.values.scheduler.default_retry_delay.table,
            first->values.scheduler.default_retry_delay.table);
}

TEST(print, tells_where_a_value_comes_from) {
  load_request r;
  r.search = false;
  r.sets = {"node.name=east"};
  EXPECT_THAT(print(load(r).value(), {.sources = true}),
              testing::HasSubstr("# Set by --set.\nname = \"east\"\n"));
}

TEST(example_files, all_load_without_a_warning_and_say_what_they_trade) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator{conf_dir()}) {
    if (entry.path().extension() != ".toml") continue;
    ++found;
    load_request r;
    r.file = entry.path().string();
    auto c = load(r);
    ASSERT_TRUE(c.has_value()) << c.error().front().text();
    EXPECT_TRUE(c->warnings.empty()) << c->warnings.front().text();
    EXPECT_EQ(read(entry.path()).front(), '#') << entry.path();
  }
  EXPECT_EQ(found, 7u);
}
