#include "actors/time_watch.hpp"

#include "actors/log.hpp"
#include "core/triggers/zone.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace lycosa::actors {

namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

/// An upgrade has ended when nothing came for this long.
constexpr std::chrono::milliseconds quiet{200};
/// But nobody is kept waiting longer than this.
constexpr std::chrono::milliseconds longest_gathering{1500};
/// Some forty folders are usual; this is for one that is no database at all.
constexpr std::size_t most_folders = 1000;

class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

private:
  int fd_;
};

/// A timer that will never fire, but is told when the clock is set. True when it was, meanwhile.
bool arm(int fd) {
  itimerspec never{};
  never.it_value.tv_sec = std::numeric_limits<time_t>::max();
  return ::timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, nullptr) != 0
         && errno == ECANCELED;
}

int open_clock_timer() {
  const int fd = ::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd >= 0) (void)arm(fd);
  return fd;
}

bool clock_timer_was_cancelled(int fd) {
  std::uint64_t fired = 0;
  bool was_set = ::read(fd, &fired, sizeof fired) < 0 && errno == ECANCELED;
  // Armed again before anybody reads the clock, so that nothing falls between the two.
  while (arm(fd))
    was_set = true;
  return was_set;
}

} // namespace

class time_watch::watcher {
public:
  watcher(handler told, time_sources from)
      : told_(std::move(told)), folders_(std::move(from.zone_folders)),
        clock_was_set_(std::move(from.clock_was_set)), clock_(from.open_clock()),
        files_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (clock_.get() < 0) complain("a clock that is set is noticed late");
    if (files_.get() < 0) complain("changed time zones are noticed late");
    if (stop_.get() < 0) {
      complain("a set clock and changed time zones are noticed late");
      return; // a thread that cannot be ended is not begun
    }
    look_around();
    // Signals are for the threads that wait for them.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_setname_np(thread_.native_handle(), "time-watch");
  }

  ~watcher() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

private:
  static void complain(const char* what) {
    log_of("jobs")->warn("{}: {}", what, std::strerror(errno));
  }

  void run() {
    std::array<pollfd, 3> all{{{stop_.get(), POLLIN, 0},
                               {clock_.get(), POLLIN, 0}, // below 0: passed over
                               {files_.get(), POLLIN, 0}}};
    for (;;) {
      if (::poll(all.data(), all.size(), patience()) < 0 && errno != EINTR) {
        complain("a set clock and changed time zones are noticed late");
        return;
      }
      if (all[0].revents != 0) return;
      if (all[1].revents != 0 && clock_was_set_(clock_.get())) told_(time_change::clock);
      if (all[2].revents != 0) read_files();
      if (gathering_ && patience() == 0) {
        gathering_.reset();
        look_around(); // before anybody reads the files, so that nothing falls between the two
        told_(time_change::zones);
      }
    }
  }

  /// How long to wait for more, in milliseconds; -1 = until it comes.
  [[nodiscard]] int patience() const {
    if (!gathering_) return -1;
    const auto until = std::min(gathering_->first + longest_gathering, gathering_->latest + quiet);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now());
    return static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0}));
  }

  void read_files() {
    alignas(inotify_event) std::array<char, 16'384> buffer;
    bool changed = false;
    for (;;) {
      const auto n = ::read(files_.get(), buffer.data(), buffer.size());
      if (n <= 0) break;
      for (const char* at = buffer.data(); at < buffer.data() + n;) {
        inotify_event e;
        std::memcpy(&e, at, sizeof e);
        const char* name = at + sizeof e;
        at += sizeof e + e.len;
        const auto above = above_.find(e.wd);
        if (above == above_.end() || (e.len > 0 && above->second.contains(name))) changed = true;
      }
    }
    if (!changed) return;
    const auto now = steady::now();
    if (!gathering_) gathering_ = gathering{now, now};
    gathering_->latest = now;
  }

  /// Watches whatever there is; what is watched already stays as it is.
  void look_around() {
    if (files_.get() < 0) return;
    above_.clear();
    std::size_t left = most_folders;
    for (const auto& folder : folders_) {
      const auto path = fs::path(folder).lexically_normal();
      const auto plain = path.has_filename() ? path : path.parent_path();
      // The folder itself may come, or another one may be put in its place.
      const int above = watch(plain.parent_path(), IN_CREATE | IN_MOVED_TO);
      if (above >= 0) above_[above].insert(plain.filename());
      watch_all(plain, left);
    }
  }

  void watch_all(const fs::path& folder, std::size_t& left) {
    if (left == 0
        || watch(folder, IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF) < 0)
      return;
    --left;
    std::error_code ec;
    for (fs::directory_iterator i(folder, ec), end; !ec && i != end; i.increment(ec)) {
      std::error_code gone;
      if (i->symlink_status(gone).type() == fs::file_type::directory) watch_all(i->path(), left);
    }
  }

  int watch(const fs::path& folder, std::uint32_t mask) {
    const int wd = ::inotify_add_watch(files_.get(), folder.c_str(), mask | IN_ONLYDIR);
    if (wd < 0 && errno != ENOENT && errno != ENOTDIR && !std::exchange(failed_, true))
      complain("changed time zones may be noticed late");
    return wd;
  }

  struct gathering {
    steady::time_point first, latest;
  };

  handler told_;
  std::vector<std::string> folders_;
  std::function<bool(int)> clock_was_set_;
  descriptor clock_, files_, stop_;
  /// Folders of which only some names count: watch descriptor → those names.
  std::map<int, std::set<std::string>> above_;
  std::optional<gathering> gathering_; ///< files have changed, and nobody was told yet
  bool failed_ = false;                ///< it was said that the system gives no more watches
  std::thread thread_;
};

time_watch::time_watch(handler told, time_sources sources) {
  if (sources.zone_folders.empty()) {
    const auto folders = trigger::zone_folders();
    sources.zone_folders.assign(folders.begin(), folders.end());
    const auto files = trigger::local_zone_files();
    sources.zone_folders.insert(sources.zone_folders.end(), files.begin(), files.end());
  }
  if (!sources.open_clock) {
    sources.open_clock = open_clock_timer;
    sources.clock_was_set = clock_timer_was_cancelled;
  }
  watcher_ = std::make_unique<watcher>(std::move(told), std::move(sources));
}

time_watch::~time_watch() = default;

} // namespace lycosa::actors
