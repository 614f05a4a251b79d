#include "core/lease.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lycosa {
namespace {

lease_token sample() {
  lease_token t;
  t.project = project_id{0x01020304};
  t.key = task_key{7, 0x0000'BEEF'CAFEull};
  t.number = 0xFFFF'FFFF;
  t.generation = 3;
  t.epoch = 0x8000'0000'0000'0001ull;
  return t;
}

TEST(lease_text, comes_back_as_the_same_token) {
  EXPECT_EQ(parse_lease(to_text(sample())), sample());
  EXPECT_EQ(parse_lease(to_text({})), lease_token{});
}

TEST(lease_text, is_48_characters_fit_for_a_url) {
  const auto text = to_text(sample());
  EXPECT_EQ(text.size(), 48U);
  EXPECT_EQ(
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);
}

TEST(lease_text, differs_for_every_part_of_the_token) {
  std::set<std::string> texts{to_text(sample())};
  auto t = sample();
  t.project = project_id{5};
  texts.insert(to_text(t));
  t = sample();
  t.key = task_key{8, 0xBEEF};
  texts.insert(to_text(t));
  t = sample();
  t.number = 1;
  texts.insert(to_text(t));
  t = sample();
  t.generation = 4;
  texts.insert(to_text(t));
  t = sample();
  t.epoch = 2;
  texts.insert(to_text(t));
  EXPECT_EQ(texts.size(), 6U);
}

TEST(lease_text, a_change_of_any_character_is_noticed) {
  const auto text = to_text(sample());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto bad = text;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(parse_lease(bad)) << i;
    bad[i] = '+';
    EXPECT_FALSE(parse_lease(bad)) << i;
    bad[i] = '\xff';
    EXPECT_FALSE(parse_lease(bad)) << i;
  }
}

TEST(lease_text, other_texts_are_no_tokens) {
  EXPECT_FALSE(parse_lease(""));
  EXPECT_FALSE(parse_lease("lease"));
  EXPECT_FALSE(parse_lease(to_text(sample()) + "A"));
  EXPECT_FALSE(parse_lease(to_text(sample()).substr(1)));
  EXPECT_FALSE(parse_lease(std::string(48, 'A')));
}

} // namespace
} // namespace lycosa
