#include "core/md5.hpp"

#include <gtest/gtest.h>

namespace lycosa {
namespace {

TEST(md5, is_the_digest_others_compute) {
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5_hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(md5_hex(std::string(1'000'000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
}

} // namespace
} // namespace lycosa
