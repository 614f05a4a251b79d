#include "executors/tail_buffer.hpp"

#include <gtest/gtest.h>

namespace lycosa::executors {

TEST(tail_buffer, keeps_all_that_fits) {
  tail_buffer t(8);
  t.append("1234");
  t.append("5678");
  EXPECT_FALSE(t.cut());
  EXPECT_EQ(t.take(), "12345678");
}

TEST(tail_buffer, keeps_the_last_bytes_whatever_the_pieces) {
  std::string all;
  for (int i = 0; i < 1000; ++i)
    all += static_cast<char>('a' + i % 26);
  for (std::size_t piece = 1; piece <= all.size(); piece += 7) {
    tail_buffer t(64);
    for (std::size_t at = 0; at < all.size(); at += piece)
      t.append(all.substr(at, piece));
    EXPECT_TRUE(t.cut()) << piece;
    EXPECT_EQ(t.take(), all.substr(all.size() - 64)) << piece;
  }
}

TEST(tail_buffer, starts_at_a_character_after_a_cut) {
  tail_buffer t(4);
  t.append("xx\u20ac\u20ac"); // three bytes each
  EXPECT_TRUE(t.cut());
  EXPECT_EQ(t.take(), "\u20ac");
}

TEST(tail_buffer, leaves_bytes_that_are_no_text_alone) {
  tail_buffer t(8);
  t.append("\x80\x81\x82");
  EXPECT_FALSE(t.cut());
  EXPECT_EQ(t.take(), "\x80\x81\x82");
}

TEST(tail_buffer, may_keep_nothing) {
  tail_buffer t(0);
  t.append("text");
  EXPECT_TRUE(t.cut());
  EXPECT_EQ(t.take(), "");
}

} // namespace lycosa::executors
