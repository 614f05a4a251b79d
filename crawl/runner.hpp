#pragma once

#include "actors/node.hpp"

#include "crawl/fetcher.hpp"
#include "crawl/processor.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lycosa::crawl {

/// One crawl, for a person who watches.
struct crawled {
  std::string project, taskid, url;
  long status = 0;
  std::string error; ///< of the fetch or the script
  bool ok = false;
  std::size_t follows = 0;
  std::string result; ///< JSON; empty = none
};

struct runner_config {
  fetcher_config fetch;
  std::vector<processor_config> scripts;      ///< one a project; no others are crawled
  std::function<void(const crawled&)> tell{}; ///< on some thread; may be empty
};

/// pyspider's fetcher and processor behind a node in the same process: leases tasks, fetches them,
/// gives them to their project's script, submits what it found, stores its result, reports. In that
/// order, so that a project is never taken for finished while links of it are on their way.
class runner {
public:
  /// `node` must outlive it. Crawls from the start unless `paused`.
  static std::unique_ptr<runner> start(runner_config config, actors::node& node, bool paused);
  virtual ~runner() = default; ///< stops

  /// Whether it goes on by itself; else only `step` crawls.
  virtual void pause(bool paused) = 0;
  /// Crawls one task of one project (empty = any) that may run now. `done` tells whether there was
  /// one.
  virtual void step(std::string project, std::function<void(bool)> done) = 0;
  /// A script has changed.
  virtual void reload(const std::string& project) = 0;
  /// Returns when nothing has been under way and nothing has come for `quiet`, or after `stop`.
  virtual void wait_until_quiet(usec quiet) = 0;
  /// Gives leases back and ends the scripts.
  virtual void stop() = 0;
};

} // namespace lycosa::crawl
