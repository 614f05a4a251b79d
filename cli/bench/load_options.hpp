#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lycosa::cli::bench {

/// What the commands of `lycosa bench` are told. Each workload reads its part.
struct load_options {
  std::string server;            ///< URL; empty = a node of one's own
  bool embedded = false;         ///< that node in this process instead of a child
  std::string data;              ///< its directory; empty = a temporary one
  std::vector<std::string> sets; ///< its settings, `section.key=value`

  std::string project = "bench";
  std::uint64_t tasks = 200'000;
  std::uint32_t batch = 1000; ///< tasks in one request
  unsigned connections = 4;   ///< each a client of its own
  std::uint32_t body = 200;   ///< bytes of opaque JSON a task carries, about
  double rate = 0;            ///< tasks a second, sent whatever the answers do; 0 = closed loop

  double share = 0.45;           ///< duplicates: of the tasks sent, how many are known
  std::uint32_t projects = 1000; ///< hosts
  double skew = 1;               ///< hosts: Zipf's exponent
  double spread = 5;             ///< delayed: seconds over which tasks come due
  unsigned rounds = 3;           ///< recrawl: crawls of each task
  std::uint32_t jobs = 1000;     ///< jobs: that fire in a second
  std::string trigger = "date";  ///< jobs: date or interval
  bool together = false;         ///< jobs: all at the full second
  double seconds = 10;           ///< jobs, soak
  double interval = 1;           ///< soak: seconds a line stands for
};

} // namespace lycosa::cli::bench
