#include "gateway/process_stats.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace lycosa::gateway {
namespace {

double seconds(clockid_t clock) {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

/// Fields of /proc/self/stat from the third on: the second, the program's name, may hold anything.
std::istringstream stat_fields() {
  std::ifstream in("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto name_end = text.rfind(')');
  return std::istringstream(name_end == std::string::npos ? std::string{}
                                                          : text.substr(name_end + 1));
}

/// Does not change as long as the process lives, though the clocks that tell it are read in turn.
double start_time() {
  static const double at = [] {
    auto fields = stat_fields();
    std::string skipped;
    for (int i = 3; i < 22; ++i)
      fields >> skipped;
    double ticks = 0;
    if (!(fields >> ticks)) return 0.0;
    const auto booted = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
    return booted + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }();
  return at;
}

std::uint64_t open_files() {
  auto* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return 0;
  std::uint64_t n = 0;
  while (const auto* entry = readdir(dir))
    if (entry->d_name[0] != '.') ++n;
  closedir(dir);
  return n > 0 ? n - 1 : 0; // the directory's own
}

} // namespace

process_stats look_at_process() {
  process_stats p;
  p.cpu_seconds = seconds(CLOCK_PROCESS_CPUTIME_ID);
  p.start_time = start_time();
  std::ifstream memory("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (memory >> all >> resident) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    p.virtual_bytes = all * page;
    p.resident_bytes = resident * page;
  }
  p.open_files = open_files();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) p.most_files = limit.rlim_cur;
  auto fields = stat_fields();
  std::string skipped;
  for (int i = 3; i < 20; ++i)
    fields >> skipped;
  fields >> p.threads;
  return p;
}

} // namespace lycosa::gateway
