#include "storage/change_set.hpp"

#include <gtest/gtest.h>

namespace lycosa::storage::test {

TEST(change_set, comes_back_in_order) {
  change_set s;
  s.put(3, "key", "value");
  s.erase(9, std::string(511, 'k'));
  s.put(0, "", "");
  EXPECT_FALSE(s.empty());
  const auto bytes = s.take();
  EXPECT_TRUE(s.empty());

  change_reader r(bytes);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.table(), 3u);
  EXPECT_FALSE(r.erased());
  EXPECT_EQ(r.key(), "key");
  EXPECT_EQ(r.value(), "value");
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.table(), 9u);
  EXPECT_TRUE(r.erased());
  EXPECT_EQ(r.key(), std::string(511, 'k'));
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.table(), 0u);
  EXPECT_FALSE(r.next());
  EXPECT_TRUE(r.whole());
}

TEST(change_set, cut_off_bytes_are_noticed_wherever_they_end) {
  change_set s;
  s.put(1, "a", "first");
  const auto one = s.size();
  s.put(2, "b", "second");
  const auto bytes = s.take();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    change_reader r(std::string_view(bytes).substr(0, n));
    while (r.next()) {
    }
    EXPECT_EQ(r.whole(), n == 0 || n == one) << n;
  }
}

} // namespace lycosa::storage::test
