#include "tests/actors/caf_peer.hpp"
#include "tests/actors/link_fixture.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace lycosa::actors {
namespace {

using namespace test;

std::string body(std::size_t size, char c) {
  return std::string(size, c);
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd"))
    ++n;
  return n;
}

TEST(links, bring_messages_in_order_both_ways_and_to_oneself) {
  linked a(1), b(2), c(3);
  introduce({&a, &b, &c});
  ASSERT_TRUE(both_up(a, b) && both_up(b, c) && both_up(a, c));
  constexpr int many = 2000;
  for (int i = 0; i < many; ++i)
    for (auto* from : {&a, &b, &c})
      for (auto* to : {&a, &b, &c})
        ASSERT_TRUE(from->send(*to, std::to_string(i)));
  for (auto* to : {&a, &b, &c})
    for (auto* from : {&a, &b, &c}) {
      ASSERT_TRUE(until([&] { return to->from(*from).size() == many; }));
      const auto got = to->from(*from);
      for (int i = 0; i < many; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], std::to_string(i));
    }
  EXPECT_EQ(a.told(b), std::vector<bool>{true});
  EXPECT_EQ(b.told(a), std::vector<bool>{true});
}

TEST(links, bring_large_messages_and_refuse_larger_ones) {
  linked a(1), b(2, [](link_config&c) { c.max_message = 8U << 20; });
  introduce({&a, &b});
  ASSERT_TRUE(both_up(a, b));
  const auto large = body(8U << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(a.send(b, large));
    ASSERT_TRUE(b.send(a, large + ""));
    ASSERT_TRUE(a.send(b, ""));
  }
  EXPECT_FALSE(a.send(b, large + "y"));
  ASSERT_TRUE(until([&] { return b.from(a).size() == 10 && a.from(b).size() == 5; }));
  EXPECT_EQ(b.from(a)[8], large);
  EXPECT_EQ(b.from(a)[9], "");
  EXPECT_TRUE(a.l->is_up(node(2)));
}

TEST(links, may_be_answered_from_within_a_handler) {
  linked a(1), b(2);
  b.on_message = [&](cluster::node_id from, const bytes_ptr& text) {
    EXPECT_TRUE(b.l->send(from, 1, std::make_shared<std::string>("re: " + *text)));
  };
  introduce({&a, &b});
  ASSERT_TRUE(until([&] { return a.send(b, "first"); })); // the first moment at which it can
  ASSERT_TRUE(until([&] { return !a.from(b).empty(); }));
  EXPECT_EQ(a.from(b)[0], "re: first");
}

TEST(links, tell_when_a_peer_ends_and_when_it_is_back) {
  linked a(1);
  auto b = std::make_unique<linked>(2);
  introduce({&a, b.get()});
  ASSERT_TRUE(both_up(a, *b));
  const auto config = b->config;
  const auto port = b->l->port();
  b->l->stop();
  ASSERT_TRUE(until([&] { return a.told(*b) == std::vector<bool>({true, false}); }));
  EXPECT_FALSE(a.l->is_up(node(2)));
  EXPECT_FALSE(a.send(*b, "lost"));
  EXPECT_NE(a.l->trouble(node(2)), "");
  b = std::make_unique<linked>(2, [&](link_config& c) {
    c = config;
    c.listen = "127.0.0.1:" + std::to_string(port);
  });
  introduce({&a, b.get()});
  ASSERT_TRUE(both_up(a, *b));
  EXPECT_EQ(a.l->trouble(node(2)), "");
  ASSERT_TRUE(a.send(*b, "again"));
  ASSERT_TRUE(until([&] { return b->from(a).size() == 1; }));
  ASSERT_TRUE(until([&] { return a.told(*b) == std::vector<bool>({true, false, true}); }));
}

TEST(links, notice_a_network_that_is_cut_and_mend) {
  linked a(1), b(2);
  cable between(b.l->port());
  a.l->members({{node(1), a.address()}, {node(2), between.address()}});
  b.l->members({{node(1), a.address()}, {node(2), b.address()}});
  ASSERT_TRUE(both_up(a, b));
  between.is_cut = true;
  ASSERT_TRUE(until([&] { return !a.l->is_up(node(2)) && !b.l->is_up(node(1)); }));
  EXPECT_EQ(a.l->trouble(node(2)), "it is silent");
  between.is_cut = false;
  ASSERT_TRUE(both_up(a, b));
  ASSERT_TRUE(b.send(a, "x"));
  ASSERT_TRUE(until([&] { return a.from(b).size() == 1; }));
}

TEST(links, cut_off_a_peer_that_deals_with_nothing) {
  linked a(1, [](link_config& c) { c.max_outstanding = 4U << 20; });
  linked b(2);
  std::atomic<bool> stuck{true};
  b.on_message = [&](cluster::node_id, const bytes_ptr&) { until([&] { return !stuck; }); };
  introduce({&a, &b});
  ASSERT_TRUE(both_up(a, b));
  int sent = 0;
  while (a.send(b, body(1U << 20, 'x')))
    ++sent;
  EXPECT_EQ(sent, 4);
  EXPECT_FALSE(a.send(b, "")) << "the link is gone, not only full";
  stuck = false;
  ASSERT_TRUE(both_up(a, b));
  ASSERT_TRUE(until([&] { return a.told(b) == std::vector<bool>({true, false, true}); }));
  // What is dealt with counts no more.
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(until([&] { return a.l->is_up(node(2)); }) && a.send(b, body(100'000, 'y')));
}

TEST(links, end_with_their_membership) {
  linked a(1), b(2);
  introduce({&a, &b});
  ASSERT_TRUE(both_up(a, b));
  b.l->members({{node(2), b.address()}});
  ASSERT_TRUE(until(
      [&] { return a.l->trouble(node(2)).find("no member of the cluster") != std::string::npos; }));
  EXPECT_FALSE(b.l->is_up(node(1)));
  EXPECT_EQ(b.told(a), std::vector<bool>({true, false}));
  introduce({&a, &b});
  ASSERT_TRUE(both_up(a, b));
}

struct refused_links : testing::Test {
  /// Connects two that do not fit and waits for some attempts.
  void refuse(const std::function<void(link_config&)>& change) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log);
    spdlog::drop("cluster");
    spdlog::register_logger(std::make_shared<spdlog::logger>("cluster", sink));
    {
      linked a(1), b(2, change);
      cable between(b.l->port());
      b.l->members({{node(1), a.address()}});
      ASSERT_TRUE(b.send(b, "") && until([&] { return !b.from(b).empty(); })); // b knows a by now
      a.l->members({{node(2), between.address()}});
      ASSERT_TRUE(until([&] { return between.connections >= 6; }));
      ASSERT_TRUE(
          until([&] { return !a.l->trouble(node(2)).empty() && !b.l->trouble(node(1)).empty(); }));
      EXPECT_FALSE(a.l->is_up(node(2)) || b.l->is_up(node(1)));
      EXPECT_FALSE(a.send(b, "x"));
      EXPECT_TRUE(a.told(b).empty() && b.told(a).empty());
      at_a = a.l->trouble(node(2));
      at_b = b.l->trouble(node(1));
    }
    spdlog::drop("cluster");
    // Not those of the end, when one side goes while the other greets it.
    std::istringstream text(log.str());
    for (std::string line; std::getline(text, line);)
      if (line.find("is not connected") != std::string::npos
          && line.find("closed the connection") == std::string::npos
          && line.find("refused") == std::string::npos)
        ++lines;
  }

  std::ostringstream log;
  std::string at_a, at_b;
  int lines = 0;
};

TEST_F(refused_links, are_those_of_another_cluster) {
  refuse([](link_config& c) { c.cluster = "other"; });
  EXPECT_NE(at_b.find("cluster"), std::string::npos) << at_b;
  EXPECT_NE(at_a.find("cluster"), std::string::npos) << at_a;
  EXPECT_LE(lines, 4) << log.str(); // each side's own reason and the other's, whichever comes first
}

TEST_F(refused_links, are_those_of_a_version_too_far_away) {
  refuse([](link_config& c) {
    c.wire_version = 3;
    c.oldest_wire_version = 2;
  });
  EXPECT_NE(at_a.find("version"), std::string::npos) << at_a;
  EXPECT_NE(at_b.find("version"), std::string::npos) << at_b;
}

TEST_F(refused_links, are_those_with_another_secret) {
  refuse([](link_config& c) { c.secret = "another"; });
  EXPECT_EQ(at_b, "it has another cluster secret");
  EXPECT_EQ(at_a, "it refuses this node: it has another cluster secret");
  EXPECT_LE(lines, 4) << log.str(); // a connection that is cut between gives a reason of its own
}

TEST(links, join_versions_that_overlap) {
  linked a(1, [](link_config& c) { c.secret = "s"; });
  linked b(2, [](link_config& c) {
    c.secret = "s";
    c.wire_version = 2;
  });
  introduce({&a, &b});
  EXPECT_TRUE(both_up(a, b));
}

TEST(links, refuse_who_answers_at_the_wrong_address) {
  linked a(1), b(2), c(3);
  a.l->members({{node(2), b.address()}, {node(3), b.address()}});
  b.l->members({{node(1), a.address()}});
  ASSERT_TRUE(both_up(a, b));
  ASSERT_TRUE(until([&] { return !a.l->trouble(node(3)).empty(); }));
  EXPECT_FALSE(a.l->is_up(node(3)));
}

TEST(links, are_not_made_with_strangers) {
  linked a(1);
  caf_peer stranger; // a CAF system that is no node
  a.l->members({{node(2), "127.0.0.1:" + std::to_string(stranger.port())}});
  ASSERT_TRUE(until([&] { return !a.l->trouble(node(2)).empty(); }));
  EXPECT_FALSE(a.l->is_up(node(2)));
}

TEST(links, leave_no_descriptors_behind) {
  linked a(1);
  {
    linked b(2);
    introduce({&a, &b});
    ASSERT_TRUE(both_up(a, b));
  }
  ASSERT_TRUE(until([&] { return !a.l->is_up(node(2)); }));
  a.l->members({});
  std::size_t before = 0;
  ASSERT_TRUE(until([&] { // whatever is still being closed
    const auto now = open_descriptors();
    return std::exchange(before, now) == now;
  }));
  for (int i = 0; i < 20; ++i) {
    linked b(2);
    introduce({&a, &b});
    ASSERT_TRUE(both_up(a, b));
    a.l->members({});
    ASSERT_TRUE(until([&] { return !b.l->is_up(node(1)); }));
  }
  EXPECT_TRUE(until([&] { return open_descriptors() <= before + 2; }))
      << before << " -> " << open_descriptors();
}

TEST(links, cannot_be_started_twice_at_a_port_or_without_a_number) {
  linked a(1);
  auto config = a.config;
  config.listen = a.address();
  const auto taken = links::start(config);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, errc::io_error);
  config.self = cluster::node_id::none;
  const auto none = links::start(config);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::invalid_argument);
}

} // namespace
} // namespace lycosa::actors
