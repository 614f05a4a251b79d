#include "cli/logging.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace lycosa;
using namespace lycosa::cli;

namespace {

class logging_test : public ::testing::Test {
protected:
  logging_test() {
    auto pattern = (std::filesystem::temp_directory_path() / "lycosa-log-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    settings_.file = (dir_ / "node.log").string();
  }
  ~logging_test() override {
    stop_logging();
    std::filesystem::remove_all(dir_);
  }
  std::string written() {
    stop_logging();
    std::ifstream in(settings_.file);
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  conf::log_settings settings_;
  std::filesystem::path dir_;
};

} // namespace

TEST_F(logging_test, each_subsystem_has_its_level) {
  settings_.level = "warn";
  settings_.levels = {{"storage", "debug"}, {"odd", "off"}};
  ASSERT_TRUE(start_logging(settings_).has_value());
  spdlog::get("storage")->debug("seen one");
  spdlog::get("http")->info("not seen");
  spdlog::get("http")->warn("seen two");
  spdlog::get("odd")->critical("not seen");
  spdlog::warn("seen three");
  auto text = written();
  EXPECT_EQ(text.find("not seen"), std::string::npos) << text;
  for (auto words : {"storage: seen one", "http: seen two", "lycosa: seen three"})
    EXPECT_THAT(text, ::testing::HasSubstr(words));
}

TEST_F(logging_test, json_lines_hold_whatever_the_message_is) {
  settings_.format = "json";
  ASSERT_TRUE(start_logging(settings_).has_value());
  const std::string nasty = "a \"quoted\" \\ line\nand\x01 more %v {}";
  spdlog::get("storage")->warn("{}", nasty);
  auto line = nlohmann::json::parse(written());
  EXPECT_EQ(line["message"], nasty);
  EXPECT_EQ(line["subsystem"], "storage");
  EXPECT_EQ(line["level"], "warning");
}

TEST_F(logging_test, a_full_file_is_renamed_and_only_some_are_kept) {
  settings_.max_size = {4096};
  settings_.keep = 2;
  ASSERT_TRUE(start_logging(settings_).has_value());
  for (int i = 0; i < 500; ++i)
    spdlog::info("line {} {}", i, std::string(100, 'x'));
  stop_logging();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator{dir_}) {
    ++files;
    EXPECT_LE(entry.file_size(), 4096u);
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(logging_test, a_file_that_cannot_be_opened_is_an_error_that_names_the_key) {
  settings_.file = "/proc/no/such/file.log";
  auto failed = start_logging(settings_);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().what, "log.file");
}
