#include "actors/event_hub.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace lycosa::actors {
namespace {

constexpr auto patience = std::chrono::seconds{60};

event_item item(unsigned type, std::string job = {}, std::string project = {}) {
  event_item i;
  i.type = type;
  i.job = std::move(job);
  i.project = std::move(project);
  i.bytes = 10;
  i.json = [type, job = i.job] { return std::to_string(type) + job; };
  return i;
}

std::vector<event_item> items(std::initializer_list<event_item> all) {
  return all;
}

std::vector<std::string> texts(event_reader& r, std::size_t most = 1000) {
  std::vector<std::string> out;
  for (const auto& e : r.take(most, 1 << 20).events)
    out.push_back(e->type == "GAP" ? "gap" : e->json());
  return out;
}

using list = std::vector<std::string>;

struct hub_test : testing::Test {
  event_hub hub{{"A", "B", "JOB_ERROR"}, 7, {4, 1000}};
  std::unique_ptr<event_reader> read(event_filter f = {},
                                     std::optional<std::string_view> after = std::nullopt) {
    auto made = hub.read(std::move(f), after);
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
};

TEST_F(hub_test, a_reader_gets_what_comes_after_it_in_order) {
  hub.publish(items({item(0, "old")}));
  auto r = read();
  EXPECT_EQ(texts(*r), list{});
  hub.publish(items({item(0, "x"), item(1, "y")}));
  hub.publish(items({item(2, "z")}));
  EXPECT_EQ(texts(*r, 2), (list{"0x", "1y"}));
  EXPECT_EQ(texts(*r), list{"2z"});
  EXPECT_EQ(texts(*r), list{});
}

TEST_F(hub_test, filters_by_type_job_and_project) {
  auto types = read({1U << 1U, "", ""});
  auto job = read({~0ULL, "", "y"});
  auto project = read({~0ULL, "p", ""});
  hub.publish(items({item(0, "x"), item(1, "y"), item(0, "y", "p")}));
  EXPECT_EQ(texts(*types), list{"1y"});
  EXPECT_EQ(texts(*job), (list{"1y", "0y"}));
  EXPECT_EQ(texts(*project), list{"0y"});
}

TEST_F(hub_test, an_id_resumes_where_it_was) {
  hub.publish(items({item(0, "a"), item(0, "b"), item(0, "c")}));
  auto all = read({}, "0");
  const auto batch = all->take(1000, 1 << 20);
  ASSERT_EQ(batch.events.size(), 3u);
  EXPECT_EQ(batch.events[0]->id(), "7-1");
  EXPECT_EQ(texts(*read({}, batch.events[1]->id())), list{"0c"});
  EXPECT_EQ(texts(*read({}, "7-3")), list{});
}

TEST_F(hub_test, what_the_ring_lost_is_told_as_one_gap) {
  auto slow = read();
  for (int i = 0; i < 10; ++i)
    hub.publish(items({item(0, std::to_string(i))}));
  const auto batch = slow->take(1000, 1 << 20);
  ASSERT_EQ(batch.events.size(), 5u);
  EXPECT_EQ(batch.events[0]->type, "GAP");
  EXPECT_NE(batch.events[0]->json().find(R"("missing":6)"), std::string::npos)
      << batch.events[0]->json();
  // To read on after the gap misses nothing more.
  EXPECT_EQ(texts(*read({}, batch.events[0]->id())), (list{"06", "07", "08", "09"}));
  EXPECT_EQ(texts(*read({}, "7-2")).front(), "gap");
}

TEST_F(hub_test, an_id_of_an_earlier_start_is_told_and_all_that_is_held_follows) {
  hub.publish(items({item(0, "a")}));
  auto r = read({}, "6-100");
  const auto batch = r->take(1000, 1 << 20);
  ASSERT_EQ(batch.events.size(), 2u);
  EXPECT_NE(batch.events[0]->json().find(R"("earlier_run":true)"), std::string::npos);
  EXPECT_EQ(batch.events[1]->json(), "0a");
  for (const auto* bad : {"", "x", "7", "7-", "7-x", "-1", "7-1-1"})
    EXPECT_EQ(hub.read({}, bad).error().what, "last_event_id") << bad;
}

TEST_F(hub_test, the_ring_is_bounded_in_bytes) {
  auto big = item(0, "big");
  big.bytes = 990;
  hub.publish(items({item(0, "a"), item(0, "b")}));
  hub.publish(items({std::move(big)}));
  EXPECT_EQ(texts(*read({}, "0")), (list{"0b", "0big"}));
}

TEST_F(hub_test, a_waiting_reader_is_woken_by_its_own_events_only) {
  auto r = read({~0ULL, "", "mine"});
  std::promise<void> woken;
  std::atomic<int> calls{0};
  r->wait([&] {
    if (++calls == 1) woken.set_value();
  });
  for (int i = 0; i < 20; ++i) // more than the ring holds: not lost, for they are not for it
    hub.publish(items({item(0, "other")}));
  hub.publish(items({item(1, "mine")}));
  ASSERT_EQ(woken.get_future().wait_for(patience), std::future_status::ready);
  EXPECT_EQ(calls, 1);
  const auto got = texts(*r);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got.back(), "1mine");
}

TEST_F(hub_test, closing_wakes_and_ends_readers) {
  auto r = read();
  std::promise<void> woken;
  r->wait([&] { woken.set_value(); });
  hub.publish(items({item(0, "last")}));
  hub.close();
  ASSERT_EQ(woken.get_future().wait_for(patience), std::future_status::ready);
  auto batch = r->take(10, 1 << 20);
  EXPECT_EQ(batch.events.size(), 1u);
  EXPECT_TRUE(batch.ended);
  EXPECT_EQ(hub.readers(), 1u);
  r.reset();
  EXPECT_EQ(hub.readers(), 0u);
}

TEST_F(hub_test, the_json_of_an_event_is_made_once) {
  std::atomic<int> made{0};
  auto i = item(0);
  i.json = [&] { return std::to_string(++made); };
  auto a = read();
  auto b = read();
  hub.publish(items({std::move(i)}));
  EXPECT_EQ(texts(*a), list{"1"});
  EXPECT_EQ(texts(*b), list{"1"});
}

TEST_F(hub_test, names_of_types_are_forgiving_but_not_guessed) {
  EXPECT_EQ(hub.types_of(""), ~std::uint64_t{0});
  EXPECT_EQ(hub.types_of("a, EVENT_JOB_ERROR"), 0b101U);
  EXPECT_EQ(hub.types_of("2,a"), 0b11U);
  EXPECT_FALSE(hub.types_of("8")); // there are three
  const auto bad = hub.types_of("A,job_eror");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().what, "types");
  EXPECT_NE(bad.error().why.find("job_eror"), std::string::npos);
  EXPECT_NE(bad.error().why.find("JOB_ERROR"), std::string::npos);
}

} // namespace
} // namespace lycosa::actors
