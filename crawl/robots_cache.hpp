#pragma once

#include "crawl/fetcher.hpp"
#include "crawl/robots.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lycosa::crawl {

/// The robots.txt of each site, fetched once an hour by the fetcher itself. A site without one
/// (4xx) allows everything; one that cannot be asked (5xx, no answer) allows nothing for a minute.
class robots_cache {
public:
  robots_cache(fetcher& over, std::string user_agent)
      : fetcher_(over), user_agent_(std::move(user_agent)) {}

  /// `verdict(allowed)`, on some thread, perhaps at once.
  void ask(const std::string& url, const std::string& agent, std::function<void(bool)> verdict);

private:
  using clock = std::chrono::steady_clock;
  struct site {
    std::shared_ptr<const robots> rules; ///< none = being fetched
    clock::time_point until{};
    std::vector<std::function<void(const robots&)>> waiting;
  };
  void arrived(const std::string& origin, const fetched& page);

  fetcher& fetcher_;
  std::string user_agent_;
  std::mutex mutex_;
  std::map<std::string, site> sites_;
};

} // namespace lycosa::crawl
