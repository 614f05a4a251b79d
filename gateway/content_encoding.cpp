#include "gateway/content_encoding.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace lycosa::gateway {
namespace {

constexpr std::size_t step = 64 * 1024;

/// Makes room for more output, within the limits.
result<void> grow(std::string& out, std::size_t used, std::size_t limit, std::size_t packed,
                  budget_share& share) {
  if (used < out.size()) return {};
  if (out.size() > limit)
    return fail(errc::too_large, "body",
                "unpacks to more than " + std::to_string(limit) + " bytes");
  // One byte past the limit is allowed, to tell a full body from one that goes on.
  const auto size = std::min(std::max(out.size() * 2, step), limit + 1);
  if (!share.cover(packed + size))
    return fail(errc::busy, "", "too many bytes of requests are being worked on");
  out.resize(size);
  return {};
}

tl::unexpected<error> damaged(const char* kind) {
  return fail(errc::invalid_argument, "body", std::string{"is not valid "} + kind);
}

result<std::string> gunzip(const std::string& packed, std::size_t limit, budget_share& share) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK) return fail(errc::unavailable, "", "out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&z, &inflateEnd);
  std::string out;
  std::size_t used = 0;
  std::size_t taken = 0;
  for (;;) {
    if (auto ok = grow(out, used, limit, packed.size(), share); !ok)
      return tl::unexpected<error>(ok.error());
    const auto in = std::min<std::size_t>(packed.size() - taken, 1U << 30U);
    // zlib's interface is older than const.
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    z.avail_in = static_cast<uInt>(in);
    const auto room = std::min<std::size_t>(out.size() - used, 1U << 30U);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    z.avail_out = static_cast<uInt>(room);
    const int rc = inflate(&z, Z_NO_FLUSH);
    taken += in - z.avail_in;
    used += room - z.avail_out;
    if (rc == Z_STREAM_END) {
      if (taken == packed.size()) break;
      if (inflateReset(&z) != Z_OK) return damaged("gzip"); // another member follows
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      return damaged("gzip");
    } else if (taken == packed.size() && z.avail_out > 0) {
      return damaged("gzip"); // cut short
    }
  }
  if (used > limit)
    return fail(errc::too_large, "body",
                "unpacks to more than " + std::to_string(limit) + " bytes");
  out.resize(used);
  return out;
}

result<std::string> unzstd(const std::string& packed, std::size_t limit, budget_share& share) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> z(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!z) return fail(errc::unavailable, "", "out of memory");
  // The window is memory the sender decides about: 8 MiB is what RFC 9659 grants.
  ZSTD_DCtx_setParameter(z.get(), ZSTD_d_windowLogMax, 23);
  std::string out;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer to{nullptr, 0, 0};
  std::size_t left = 1;
  while (in.pos < in.size || left > 0) {
    if (auto ok = grow(out, to.pos, limit, packed.size(), share); !ok)
      return tl::unexpected<error>(ok.error());
    to.dst = out.data();
    to.size = out.size();
    const auto before = to.pos + in.pos;
    left = ZSTD_decompressStream(z.get(), &to, &in);
    if (ZSTD_isError(left) != 0) return damaged("zstd");
    if (left > 0 && to.pos + in.pos == before) return damaged("zstd"); // cut short
  }
  if (to.pos > limit)
    return fail(errc::too_large, "body",
                "unpacks to more than " + std::to_string(limit) + " bytes");
  out.resize(to.pos);
  return out;
}

} // namespace

result<std::string> decode_body(std::string_view encoding, std::string packed, std::size_t limit,
                                budget_share& share) {
  if (encoding.empty() || encoding == "identity") return packed;
  if (encoding == "gzip" || encoding == "x-gzip") return gunzip(packed, limit, share);
  if (encoding == "zstd") return unzstd(packed, limit, share);
  return fail(errc::invalid_argument, "content-encoding", "must be gzip, zstd or identity");
}

} // namespace lycosa::gateway
