#include "gateway/content_encoding.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace lycosa::gateway {
namespace {

std::string gzip(const std::string& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

errc failure(std::string_view encoding, std::string packed, std::size_t limit) {
  budget_share share;
  auto got = decode_body(encoding, std::move(packed), limit, share);
  return got ? errc::internal : got.error().code;
}

TEST(content_encoding, unpacks_what_was_packed) {
  budget_share share;
  for (const std::size_t size : {0, 1, 65536, 65537, 1'000'000}) {
    const std::string text(size, 'x');
    EXPECT_EQ(decode_body("gzip", gzip(text), size, share).value(), text);
    EXPECT_EQ(decode_body("zstd", zstd(text), size, share).value(), text);
  }
  EXPECT_EQ(decode_body("gzip", gzip("a") + gzip("b"), 10, share).value(), "ab");
}

TEST(content_encoding, stops_at_the_limit) {
  const std::string bomb(50'000'000, '\0');
  EXPECT_EQ(failure("gzip", gzip(bomb), 1'000'000), errc::too_large);
  EXPECT_EQ(failure("zstd", zstd(bomb), 1'000'000), errc::too_large);
  EXPECT_EQ(failure("gzip", gzip("ab"), 1), errc::too_large);
}

TEST(content_encoding, refuses_what_is_damaged_or_cut_short) {
  for (const auto& [name, packed] :
       {std::pair{"gzip", gzip(std::string(1000, 'x'))}, {"zstd", zstd(std::string(1000, 'x'))}}) {
    EXPECT_EQ(failure(name, packed.substr(0, packed.size() - 3), 9999), errc::invalid_argument);
    EXPECT_EQ(failure(name, "nonsense", 9999), errc::invalid_argument);
    EXPECT_EQ(failure(name, "", 9999), errc::invalid_argument);
  }
  EXPECT_EQ(failure("br", "x", 9), errc::invalid_argument);
}

TEST(content_encoding, counts_what_it_makes_against_the_budget) {
  auto shared = std::make_shared<budget>(100'000);
  {
    budget_share share(shared);
    const auto got = decode_body("gzip", gzip(std::string(1'000'000, 'x')), 2'000'000, share);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, errc::busy);
  }
  EXPECT_EQ(shared->used(), 0u);
}

} // namespace
} // namespace lycosa::gateway
