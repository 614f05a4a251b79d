#include "cli/event_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lycosa::cli {
namespace {

TEST(sse_reader, reads_events_however_the_bytes_are_cut) {
  const std::string text = ": following\n\nid: 7-1\nevent: JOB_ADDED\ndata: {\"a\": 1}\n\n"
                           "id:7-2\r\nevent:GAP\r\ndata:{}\r\n\r\n: nothing new\n\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    std::vector<stream_event> seen;
    sse_reader reader([&](const stream_event& e) {
      seen.push_back(e);
      return true;
    });
    for (std::size_t at = 0; at < text.size(); at += step)
      EXPECT_TRUE(reader.feed(std::string_view{text}.substr(at, step)));
    ASSERT_EQ(seen.size(), 2u) << step;
    EXPECT_EQ(seen[0].id, "7-1");
    EXPECT_EQ(seen[0].type, "JOB_ADDED");
    EXPECT_EQ(seen[0].data, "{\"a\": 1}");
    EXPECT_EQ(seen[1].id, "7-2");
    EXPECT_EQ(seen[1].data, "{}");
  }
}

TEST(sse_reader, stops_when_no_more_is_wanted) {
  int seen = 0;
  sse_reader reader([&](const stream_event&) { return ++seen < 1; });
  EXPECT_FALSE(reader.feed("data: 1\n\ndata: 2\n\n"));
  EXPECT_EQ(seen, 1);
}

} // namespace
} // namespace lycosa::cli
