#include "core/edit_distance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace lycosa {
namespace {

TEST(edit_distance, counts_edits_and_a_swap_of_neighbours_as_one) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("rate", "rate"), 0U);
  EXPECT_EQ(edit_distance("rat", "rate"), 1U);
  EXPECT_EQ(edit_distance("rtae", "rate"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "burst"), 5U);
}

TEST(edit_distance, is_not_worked_out_for_what_nobody_types) {
  const std::string endless(100'000'000, 'x');
  EXPECT_EQ(edit_distance(endless, "rate"), endless.size());
}

TEST(nearest_name, is_told_only_when_it_is_near) {
  constexpr std::array<std::string_view, 3> names{"rate", "retain_age", "retain_count"};
  EXPECT_EQ(nearest_name("ratee", names), "rate");
  EXPECT_EQ(nearest_name("retain_cuont", names), "retain_count");
  EXPECT_EQ(nearest_name("retainage", names), "retain_age");
  EXPECT_EQ(nearest_name("colour", names), "");
}

} // namespace
} // namespace lycosa
