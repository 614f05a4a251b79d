#include "tests/actors/fixture.hpp"

#include <gmock/gmock.h>

#include <deque>

namespace lycosa::actors::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// What a listener hears of a project.
class project_events : public node_fixture {
protected:
  void SetUp() override {
    node_fixture::SetUp();
    stop();
    options o;
    o.pause = {2, 2s, 3};
    o.retry = retry_policy{{}, 1h};
    start(o);
    heard = std::move(*hub.read({~0ULL, "p", ""}));
  }
  std::vector<std::string> types() {
    std::vector<std::string> out;
    for (const auto& e : heard->take(1000, 1 << 20).events) {
      out.push_back(e->type);
      last = e->json();
    }
    return out;
  }
  void fail_crawls(int n) {
    for (int i = 0; i < n; ++i) {
      names.push_back("c" + std::to_string(names.size()));
      submit({make_task("p", names.back())});
      const auto got = lease(1);
      ASSERT_THAT(got, SizeIs(1));
      settle(got[0], false);
    }
  }

  std::unique_ptr<event_reader> heard;
  std::string last;
  std::deque<std::string> names;
};

TEST_F(project_events, that_it_is_made_and_changed) {
  running("other");
  running("p");
  EXPECT_THAT(types(), ElementsAre("PROJECT_ADDED"));
  EXPECT_THAT(last, HasSubstr(R"("project":"p","status":"RUNNING")"));
  running("p");
  EXPECT_THAT(types(), ElementsAre("PROJECT_MODIFIED"));
}

TEST_F(project_events, its_pause_and_the_end_of_it) {
  running("p");
  types();
  fail_crawls(2);
  EXPECT_THAT(types(), ElementsAre("PROJECT_PAUSED"));
  EXPECT_THAT(last, HasSubstr(R"("reason":"2 crawls failed in a row")"));
  advance(3s);
  EXPECT_EQ(types().front(), "PROJECT_RESUMED");
}

TEST_F(project_events, that_an_operator_ends_its_pause) {
  running("p");
  fail_crawls(2);
  types();
  running("p"); // as `project resume` does
  EXPECT_THAT(types(), testing::UnorderedElementsAre("PROJECT_MODIFIED", "PROJECT_RESUMED"));
}

} // namespace
} // namespace lycosa::actors::test
