#include "executors/text_search.hpp"

#include <gtest/gtest.h>

namespace lycosa::executors {

TEST(text_search, finds_a_text_wherever_it_is_cut) {
  const std::string stream = "aaabaaaab needle aab";
  for (const std::string text : {"needle", "aaab", "aaaab", "a", "aab", stream.c_str()})
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
      text_search s(text);
      for (std::size_t at = 0; at < stream.size(); at += piece)
        s.feed(stream.substr(at, piece));
      EXPECT_TRUE(s.found()) << text << " in pieces of " << piece;
    }
}

TEST(text_search, finds_nothing_that_is_not_there) {
  for (std::size_t piece = 1; piece <= 6; ++piece) {
    text_search s("needle");
    const std::string stream = "needl eneedl needneedl";
    for (std::size_t at = 0; at < stream.size(); at += piece)
      s.feed(stream.substr(at, piece));
    EXPECT_FALSE(s.found()) << piece;
  }
}

TEST(text_search, an_empty_text_is_always_there) {
  EXPECT_TRUE(text_search("").found());
}

} // namespace lycosa::executors
