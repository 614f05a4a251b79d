#include "core/project_event.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

TEST(project_event, json_has_what_happened_to_which_project) {
  project_event e;
  e.kind = project_event_kind::given_up;
  e.at = wall_time{usec{1'700'000'000'250'000}};
  e.project = "p";
  e.status = project_status::running;
  EXPECT_EQ(to_json(e),
            R"({"type":"PROJECT_GIVEN_UP","at":1700000000.25,"project":"p","status":"RUNNING"})");
  e.reason = "said \"no\"\n\xff";
  EXPECT_NE(to_json(e).find(R"("reason":"said \"no\"\n)"), std::string::npos) << to_json(e);
  EXPECT_EQ(project_event_names().size(), 7u);
}

} // namespace
} // namespace lycosa
