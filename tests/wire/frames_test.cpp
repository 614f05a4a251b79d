#include "wire/forward_frames.hpp"
#include "wire/link_frames.hpp"
#include <gtest/gtest.h>

#include <random>

namespace lycosa::wire {
namespace {

constexpr std::size_t longest = std::size_t{1} << 20;

std::vector<link_frame> read(std::string_view bytes, std::size_t step) {
  link_reader reader;
  reader.allow(longest);
  std::vector<link_frame> got;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto part = bytes.substr(at, step);
    const auto ok = reader.take({part.data(), part.size()}, [&](link_frame f) {
      got.push_back(std::move(f));
      return true;
    });
    EXPECT_TRUE(ok) << ok.error().text();
  }
  return got;
}

TEST(link_frames, are_found_however_the_stream_is_cut) {
  const std::string body(70'001, 'x');
  const auto all = encode(link_hello{"c", 3, 4, "n", 2, 1, std::string("\0\1", 2), 9})
                   + encode(link_proof{"mac"}) + encode(link_alive{77}) + encode_envelope(7, body)
                   + encode_envelope(8, "") + encode(link_refused{"why"});
  for (const std::size_t step : {1, 3, 8, 4096, 1'000'000}) {
    const auto got = read(all, step);
    ASSERT_EQ(got.size(), 6u) << step;
    const auto& h = std::get<link_hello>(got[0]);
    EXPECT_EQ(h.cluster, "c");
    EXPECT_EQ(h.node, 3u);
    EXPECT_EQ(h.to, 4u);
    EXPECT_EQ(h.version, 2u);
    EXPECT_EQ(h.nonce, std::string("\0\1", 2));
    EXPECT_EQ(h.max_message, 9u);
    EXPECT_EQ(std::get<link_proof>(got[1]).mac, "mac");
    EXPECT_EQ(std::get<link_alive>(got[2]).handled, 77u);
    EXPECT_EQ(std::get<link_envelope>(got[3]).channel, 7);
    EXPECT_EQ(std::get<link_envelope>(got[3]).body, body);
    EXPECT_EQ(std::get<link_envelope>(got[4]).body, "");
    EXPECT_EQ(std::get<link_refused>(got[5]).why, "why");
  }
}

TEST(link_frames, of_strangers_and_too_long_ones_are_refused) {
  const auto refused = [](std::string_view bytes, std::size_t most) {
    link_reader reader;
    reader.allow(most);
    return !reader.take({bytes.data(), bytes.size()}, [](link_frame) { return true; });
  };
  EXPECT_TRUE(refused("GET / HTTP/1.1\r\n", longest));
  EXPECT_TRUE(refused(std::string(36, '\0'), longest));
  EXPECT_TRUE(refused(encode_envelope(1, std::string(5000, 'x')), 4096));
}

TEST(link_frames, damaged_anywhere_never_crash) {
  const auto good = encode(link_hello{"cluster", 3, 4, "name", 2, 1, "nonce", 9});
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    auto bad = good;
    for (int n = 0; n < 3; ++n)
      bad[4 + random() % (bad.size() - 4)] = static_cast<char>(random());
    link_reader reader;
    (void)reader.take({bad.data(), bad.size()}, [](link_frame) { return true; });
  }
}

TEST(forward_frames, come_back_as_they_were) {
  const auto back = [](forward_content c) {
    auto got = decode_forward(encode({5, std::move(c)}));
    EXPECT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->id, 5u);
    return got->content;
  };
  const auto r = std::get<forward_request>(
      back(forward_request{forward_interface::xmlrpc, "POST", "/a?b", "c", "d", "e", 10, "body"}));
  EXPECT_EQ(r.interface, forward_interface::xmlrpc);
  EXPECT_EQ(r.target, "/a?b");
  EXPECT_EQ(r.last_event_id, "e");
  EXPECT_EQ(r.body_size, 10u);
  EXPECT_EQ(r.body, "body");
  const auto h = std::get<forward_head>(
      back(forward_head{201, "t", {{"a", "b"}, {"c", ""}}, "x", true, true, ":", true}));
  EXPECT_EQ(h.status, 201);
  EXPECT_EQ(h.headers[1].first, "c");
  EXPECT_TRUE(h.last && h.live);
  EXPECT_EQ(h.keep_alive, ":");
  EXPECT_TRUE(h.owed);
  EXPECT_TRUE(std::get<forward_part>(back(forward_part{"x", false, true})).broken);
  EXPECT_EQ(std::get<forward_body>(back(forward_body{"xy"})).bytes, "xy");
  EXPECT_EQ(std::get<forward_credit>(back(forward_credit{12})).bytes, 12u);
  EXPECT_TRUE(std::holds_alternative<forward_cancel>(back(forward_cancel{})));
  EXPECT_TRUE(std::holds_alternative<forward_done>(back(forward_done{})));
  EXPECT_TRUE(std::holds_alternative<forward_received>(back(forward_received{})));
}

TEST(forward_frames, damaged_anywhere_never_crash) {
  const auto good =
      encode({5, forward_head{201, "t", {{"a", "b"}, {"c", "d"}}, "x", true, false, "", false}});
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    auto bad = good;
    for (int n = 0; n < 3; ++n)
      bad[random() % bad.size()] = static_cast<char>(random());
    (void)decode_forward(bad);
  }
  EXPECT_FALSE(decode_forward(""));
  EXPECT_FALSE(decode_forward("nonsense"));
}

} // namespace
} // namespace lycosa::wire
