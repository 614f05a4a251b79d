#include "bridges/backoff.hpp"
#include <gtest/gtest.h>

namespace lycosa::bridges {
namespace {

using namespace std::chrono_literals;

TEST(backoff, doubles_up_to_its_longest_and_is_never_nought) {
  backoff b{7, 100ms, 10s};
  usec bound = 100ms;
  for (int i = 0; i < 100; ++i) {
    const auto pause = b.next();
    EXPECT_LE(pause, bound);
    EXPECT_GT(pause, bound / 2 - 1us);
    bound = std::min<usec>(bound * 2, 10s);
  }
  b.succeeded();
  EXPECT_LE(b.next(), 100ms);
}

} // namespace
} // namespace lycosa::bridges
