#include "storage/lmdb_probe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

namespace lycosa::storage::lmdb {

namespace {

// Offsets within LMDB's data format 1 on a 64-bit machine.
constexpr std::size_t page_head = 16;
constexpr std::uint16_t branch_page = 0x01, leaf_page = 0x02, overflow_page = 0x04,
                        meta_page = 0x08;
constexpr std::uint32_t magic = 0xBEEFC0DE;
constexpr std::uint16_t big_data = 0x01;

template <class T>
T at(const std::vector<std::byte>& b, std::size_t offset) {
  T v{};
  if (offset + sizeof v <= b.size()) std::memcpy(&v, b.data() + offset, sizeof v);
  return v;
}

struct meta {
  std::uint64_t psize = 0, free_root = 0, last_page = 0, txn = 0;
};

class file {
public:
  explicit file(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~file() {
    if (fd_ >= 0) ::close(fd_);
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

  /// Exactly `n` bytes or an empty vector.
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::size_t n) const {
    std::vector<std::byte> b(n);
    std::size_t got = 0;
    while (got < n) {
      const auto r = ::pread(fd_, b.data() + got, n - got, static_cast<off_t>(offset + got));
      if (r < 0 && errno == EINTR) continue;
      if (r <= 0) return {};
      got += static_cast<std::size_t>(r);
    }
    return b;
  }

private:
  int fd_;
};

bool read_meta(const file& f, std::uint64_t offset, meta& out) {
  const auto b = f.read(offset, page_head + 136);
  if (b.empty() || (at<std::uint16_t>(b, 10) & meta_page) == 0) return false;
  if (at<std::uint32_t>(b, page_head) != magic) return false;
  out.psize = at<std::uint32_t>(b, page_head + 24);
  out.free_root = at<std::uint64_t>(b, page_head + 24 + 40);
  out.last_page = at<std::uint64_t>(b, page_head + 120);
  out.txn = at<std::uint64_t>(b, page_head + 128);
  return out.psize >= 512 && out.psize <= 65536 && (out.psize & (out.psize - 1)) == 0;
}

/// Whether all pages from `first` on are free. A page taken and given back within one transaction
/// is never written, so a sound file may be short by such pages.
bool missing_are_free(const file& f, const meta& m, std::uint64_t first) {
  std::uint64_t wanted = m.last_page + 1 - first;
  if (wanted > (1u << 20)) return false;
  std::vector<bool> seen(wanted);
  const std::function<bool(std::uint64_t, int)> walk = [&](std::uint64_t page, int depth) {
    if (depth > 32 || page >= first) return false;
    const auto b = f.read(page * m.psize, m.psize);
    const auto flags = at<std::uint16_t>(b, 10);
    const auto lower = at<std::uint16_t>(b, 12);
    if (b.empty() || lower < page_head) return false;
    for (std::size_t i = 0; i < (lower - page_head) / 2u; ++i) {
      const std::size_t node = at<std::uint16_t>(b, page_head + i * 2);
      const auto lo = at<std::uint16_t>(b, node), hi = at<std::uint16_t>(b, node + 2);
      const auto node_flags = at<std::uint16_t>(b, node + 4), key = at<std::uint16_t>(b, node + 6);
      if ((flags & branch_page) != 0) {
        const auto child = lo | std::uint64_t{hi} << 16 | std::uint64_t{node_flags} << 32;
        if (!walk(child, depth + 1)) return false;
        continue;
      }
      if ((flags & leaf_page) == 0) return false;
      const std::size_t size = lo | std::size_t{hi} << 16;
      std::size_t data = node + 8 + key;
      std::vector<std::byte> big;
      const auto* from = &b;
      if ((node_flags & big_data) != 0) {
        const auto over = at<std::uint64_t>(b, data);
        big = f.read(over * m.psize, page_head + size);
        if (big.empty() || (at<std::uint16_t>(big, 10) & overflow_page) == 0) return false;
        from = &big;
        data = page_head;
      }
      for (std::size_t n = at<std::uint64_t>(*from, data), j = 0; j < n && (j + 2) * 8 <= size;
           ++j) {
        const auto page_no = at<std::uint64_t>(*from, data + 8 + j * 8);
        if (page_no >= first && page_no <= m.last_page && !seen[page_no - first]) {
          seen[page_no - first] = true;
          --wanted;
        }
      }
    }
    return true;
  };
  return m.free_root != ~std::uint64_t{0} && walk(m.free_root, 0) && wanted == 0;
}

} // namespace

result<probe> probe_file(const std::string& path) {
  const file f(path);
  if (f.fd() < 0)
    return fail(errno == ENOENT ? errc::not_found : errc::io_error, path, std::strerror(errno));
  // A running writer may change the file between two reads: what holds of a sound file holds of one
  // of a few looks at it.
  error last;
  for (int look = 0; look < 5; ++look) {
    meta a, b;
    if (!read_meta(f, 0, a) || !read_meta(f, a.psize, b) || a.psize != b.psize)
      return fail(errc::corrupt, path, "its first pages are not those of a data file");
    const auto& m = a.txn > b.txn ? a : b;
    struct stat st {};
    if (::fstat(f.fd(), &st) != 0) return fail(errc::io_error, path, std::strerror(errno));
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const auto need = (m.last_page + 1) * m.psize;
    if (size >= need || missing_are_free(f, m, size / m.psize))
      return probe{size, m.psize, m.last_page + 1};
    last = {errc::corrupt, path,
            "the file is cut off: " + std::to_string(size) + " bytes of " + std::to_string(need)};
  }
  return tl::unexpected(last);
}

} // namespace lycosa::storage::lmdb
