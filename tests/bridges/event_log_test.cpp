#include "bridges/event_listeners.hpp"
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace lycosa::bridges {
namespace {

TEST(event_log, has_a_line_an_event_with_its_id_and_the_end_of_the_node) {
  std::ostringstream text;
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  auto log = std::make_shared<spdlog::logger>("events", sink);
  log->set_pattern("%v");
  spdlog::register_logger(log);
  {
    actors::event_hub hub{{"A", "B"}, 7};
    const auto happen = [&](unsigned type, const std::string& json) {
      std::vector<actors::event_item> one(1);
      one[0].type = type;
      one[0].json = [json] { return json; };
      hub.publish(std::move(one));
    };
    happen(0, "{\"n\":1}");
    const auto all = start_event_log("all", hub);
    ASSERT_TRUE(all) << all.error().text();
    happen(1, "{\"n\":2}");
    hub.close();
    (*all)->stop();
    EXPECT_EQ(text.str(), "7-1 {\"n\":1}\n7-2 {\"n\":2}\n");
    text.str("");
    const auto some = start_event_log("b", hub);
    (*some)->stop();
    EXPECT_EQ(text.str(), "7-2 {\"n\":2}\n");
  }
  spdlog::drop("events");
}

} // namespace
} // namespace lycosa::bridges
