#include "actors/node.hpp"
#include "actors/wait_for.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <set>

namespace lycosa::actors::test {

namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

class NodeOnDisk : public ::testing::Test {
protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    auto pattern = (std::filesystem::temp_directory_path() / "lycosa-node-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    open();
  }
  void TearDown() override {
    node_.reset();
    std::filesystem::remove_all(folder);
  }

  void open() {
    node_.reset();
    node_config c;
    c.data = (folder / "data").string();
    c.shards = 2;
    auto opened = node::open(c);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    node_ = std::move(*opened);
  }

  result<put_project_answer> put(const std::string& name) {
    project_patch p;
    p.status = project_status::running;
    p.rate = 1000;
    p.burst = 1000;
    return wait_for<put_project_answer>([&](auto done) { node_->put_project(name, p, done); });
  }

  result<submit_answer> submit(const std::string& project, const std::vector<std::string>& ids) {
    submit_request request;
    for (const auto& id : ids) {
      task t;
      t.project = project;
      t.taskid = id;
      t.url = "http://example.com/";
      request.items.push_back({t, static_cast<std::uint32_t>(request.items.size())});
    }
    return wait_for<submit_answer>([&](auto done) { node_->submit(std::move(request), done); });
  }

  result<lease_answer> lease(std::uint32_t max) {
    lease_request request;
    request.max = max;
    request.wait = 30s;
    std::unique_ptr<lease_wait> wait;
    return wait_for<lease_answer>([&](auto done) { wait = node_->lease(request, done); });
  }

  std::filesystem::path folder;
  std::unique_ptr<node> node_;
};

TEST_F(NodeOnDisk, EveryStoredProjectIsKnownFromTheFirstRequestOn) {
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(put("p" + std::to_string(i)).has_value());
  for (int round = 0; round < 20; ++round) {
    open();
    for (int i = 0; i < 50; ++i) {
      const auto name = "p" + std::to_string(i);
      ASSERT_TRUE(wait_for<project_view>([&](auto done) { node_->get_project(name, done); }))
          << name << " in round " << round;
    }
  }
}

TEST_F(NodeOnDisk, TasksOutliveTheNode) {
  ASSERT_TRUE(put("p").has_value());
  ASSERT_EQ(submit("p", {"a", "b", "c"})->created, 3u);
  open();
  EXPECT_EQ(submit("p", {"a", "b", "c"})->ignored, 3u);
  std::set<std::string> got;
  while (got.size() < 3) {
    const auto answer = lease(3);
    ASSERT_TRUE(answer.has_value());
    ASSERT_FALSE(answer->tasks.empty());
    for (const auto& t : answer->tasks)
      got.emplace(t.record.taskid);
  }
  EXPECT_THAT(got, SizeIs(3));
}

TEST_F(NodeOnDisk, AListOverSeveralProjectsIsAnsweredOnce) {
  ASSERT_TRUE(put("p").has_value());
  ASSERT_TRUE(put("q").has_value());
  submit_request request;
  for (const char* project : {"p", "nope", "q", "p"}) {
    task t;
    t.project = project;
    t.taskid = "a";
    t.url = "http://example.com/";
    request.items.push_back({t, static_cast<std::uint32_t>(request.items.size())});
  }
  const auto answer =
      wait_for<submit_answer>([&](auto done) { node_->submit(std::move(request), done); });
  EXPECT_EQ(answer->created, 2u);
  EXPECT_EQ(answer->ignored, 1u);
  ASSERT_THAT(answer->rejected, SizeIs(1));
  EXPECT_EQ(answer->rejected[0].index, 1u);
}

TEST_F(NodeOnDisk, RequestsAfterTheStopAreAnsweredAsUnavailable) {
  ASSERT_TRUE(put("p").has_value());
  node_->stop();
  const auto answer = put("q");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, errc::unavailable);
}

} // namespace

} // namespace lycosa::actors::test
