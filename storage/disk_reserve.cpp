#include "storage/disk_reserve.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace lycosa::storage {

disk_reserve::disk_reserve(std::string path, std::uint64_t bytes) : path_(std::move(path)) {
  dir_ = path_.substr(0, path_.rfind('/'));
  struct statvfs fs {};
  std::uint64_t total = 0;
  if (::statvfs(dir_.c_str(), &fs) == 0) total = std::uint64_t{fs.f_blocks} * fs.f_frsize;
  bytes_ = total == 0 ? bytes : std::min(bytes, total / 16);
  margin_ = std::min<std::uint64_t>(4 << 20, total / 64);
  const std::lock_guard lock(mutex_);
  held_ = take();
}

std::uint64_t disk_reserve::available() const {
  struct statvfs fs {};
  if (::statvfs(dir_.c_str(), &fs) != 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{fs.f_bavail} * fs.f_frsize;
}

bool disk_reserve::take() {
  if (bytes_ == 0) return true;
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return false;
  struct stat st {};
  // One left by an earlier run may still be whole; another size setting makes it anew.
  bool whole = ::fstat(fd, &st) == 0 && static_cast<std::uint64_t>(st.st_size) == bytes_
               && static_cast<std::uint64_t>(st.st_blocks) * 512 >= bytes_;
  if (!whole)
    whole = ::ftruncate(fd, 0) == 0 && ::posix_fallocate(fd, 0, static_cast<off_t>(bytes_)) == 0;
  ::close(fd);
  if (!whole) ::unlink(path_.c_str());
  return whole;
}

bool disk_reserve::allow_growth(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto room = available() >= bytes + kept_free();
  if (held_ || !room) return room;
  if (skip_ > 0) {
    --skip_;
    return false;
  }
  held_ = take();
  skip_ = held_ ? 0 : 16; // a quota that the free space does not show
  return held_;
}

std::uint64_t disk_reserve::cushion() const {
  const std::lock_guard lock(mutex_);
  return kept_free();
}

std::uint64_t disk_reserve::kept_free() const {
  // Half as much again, or the reserve would go back and forth at the edge.
  return held_ ? margin_ : margin_ + bytes_ + bytes_ / 2;
}

void disk_reserve::before_settle(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!held_ || available() >= bytes + margin_) return;
  }
  release();
}

bool disk_reserve::release() {
  const std::lock_guard lock(mutex_);
  if (!held_ || bytes_ == 0) return false;
  held_ = false;
  return ::unlink(path_.c_str()) == 0;
}

bool disk_reserve::exhausted() const {
  const std::lock_guard lock(mutex_);
  return available() < (1u << 20);
}

} // namespace lycosa::storage
