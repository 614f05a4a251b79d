#include "crawl/fetcher.hpp"
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace lycosa::crawl {
namespace {

fetched get(fetcher& f, fetch_request request) {
  std::promise<fetched> got;
  f.start(std::move(request), [&](fetched page) { got.set_value(std::move(page)); });
  return got.get_future().get();
}

TEST(fetcher, data_urls_need_no_network) {
  const auto f = fetcher::make({});
  EXPECT_EQ(get(*f, {"data:,on_start", "", ""}).content, "on_start");
  EXPECT_EQ(get(*f, {"data:text/plain,a%20b", "", ""}).content, "a b");
  EXPECT_EQ(get(*f, {"data:;base64,aGVsbG8=", "", ""}).content, "hello");
  EXPECT_EQ(get(*f, {"data:;base64,a", "", ""}).status, 599);
  EXPECT_EQ(get(*f, {"data:", "", ""}).status, 599);
}

TEST(fetcher, what_cannot_be_reached_or_makes_no_sense_is_599_with_a_reason) {
  const auto f = fetcher::make({});
  for (const auto* url : {"http://127.0.0.1:1/", "ftp://127.0.0.1/", "file:///etc/passwd", "x"}) {
    const auto got = get(*f, {url, "", ""});
    EXPECT_EQ(got.status, 599) << url;
    EXPECT_FALSE(got.error.empty()) << url;
    EXPECT_FALSE(got.ok());
  }
  EXPECT_NE(get(*f, {"http://127.0.0.1:1/", R"({"headers":{"A":"b\r\nC: d"}})", ""})
                .error.find("headers"),
            std::string::npos);
}

TEST(fetcher, every_fetch_is_answered_when_it_stops) {
  const auto f = fetcher::make({});
  std::atomic<int> answered{0};
  for (int i = 0; i < 50; ++i)
    f->start({"http://127.0.0.1:1/", "", ""}, [&](const fetched&) { ++answered; });
  f->stop();
  f->start({"http://127.0.0.1:1/", "", ""}, [&](const fetched&) { ++answered; });
  EXPECT_EQ(answered, 51);
}

} // namespace
} // namespace lycosa::crawl
