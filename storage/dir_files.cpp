#include "storage/dir_files.hpp"

#include "storage/open.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>

namespace lycosa::storage {

namespace {

/// Released by closing it, so also by a crash.
struct dir_lock {
  int fd = -1;
  ~dir_lock() {
    if (fd >= 0) ::close(fd);
  }
};

} // namespace

std::string shard_name(unsigned shard) {
  char name[16];
  std::snprintf(name, sizeof name, "shard-%03u", shard);
  return name;
}

result<std::shared_ptr<void>> take_lock(const std::string& dir) {
  const auto path = dir + "/lycosa.lock";
  auto lock = std::make_shared<dir_lock>();
  lock->fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (lock->fd < 0) return os_error(path);
  if (::flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return os_error(path);
    char pid[24] = {};
    const auto n = ::pread(lock->fd, pid, sizeof pid - 1, 0);
    std::string owner(pid, n > 0 ? static_cast<std::size_t>(n) : 0);
    while (!owner.empty() && owner.back() == '\n')
      owner.pop_back();
    return fail(errc::incompatible, dir,
                "in use by another process" + (owner.empty() ? "" : " (" + owner + ")"));
  }
  // For people who wonder; the lock is what counts.
  const auto pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock->fd, 0) == 0) [[maybe_unused]]
    auto n = ::pwrite(lock->fd, pid.data(), pid.size(), 0);
  return std::static_pointer_cast<void>(lock);
}

result<void> sync_dir(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return os_error(path);
  const int rc = ::fsync(fd);
  ::close(fd);
  if (rc != 0) return os_error(path);
  return {};
}

result<void> replace_file(const std::string& dir, const std::string& name, std::string_view text) {
  const auto path = dir + "/" + name, fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return os_error(fresh);
  const auto give_up = [&]() -> result<void> {
    auto why = os_error(fresh);
    ::close(fd);
    return why;
  };
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up();
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return give_up();
  ::close(fd);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return os_error(path);
  return sync_dir(dir);
}

} // namespace lycosa::storage
