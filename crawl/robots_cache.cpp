#include "crawl/robots_cache.hpp"

namespace lycosa::crawl {

namespace {

constexpr std::chrono::hours fresh{1};
constexpr std::chrono::minutes when_failed{1};
constexpr std::size_t most_sites = 10'000;

} // namespace

void robots_cache::ask(const std::string& url, const std::string& agent,
                       std::function<void(bool)> verdict) {
  const auto host = url.find("://");
  const auto slash = host == std::string::npos ? host : url.find('/', host + 3);
  const auto origin = url.substr(0, slash);
  const auto fragment = url.find('#');
  auto path = slash == std::string::npos
                  ? std::string{"/"}
                  : url.substr(slash, fragment == std::string::npos ? fragment : fragment - slash);
  const auto name = agent.empty() ? user_agent_ : agent;
  auto decide = [name, path = std::move(path), verdict = std::move(verdict)](const robots& r) {
    verdict(r.allows(name, path));
  };
  std::shared_ptr<const robots> known;
  {
    const std::lock_guard lock(mutex_);
    if (sites_.size() > most_sites)
      std::erase_if(sites_, [](const auto& s) { return s.second.rules != nullptr; });
    auto& s = sites_[origin];
    if (s.rules && clock::now() < s.until) {
      known = s.rules;
    } else {
      const bool first = s.waiting.empty();
      s.waiting.push_back(std::move(decide));
      if (!first) return;
    }
  }
  if (known) return decide(*known);
  fetcher_.start({origin + "/robots.txt", "", ""},
                 [this, origin](const fetched& page) { arrived(origin, page); });
}

void robots_cache::arrived(const std::string& origin, const fetched& page) {
  std::vector<std::function<void(const robots&)>> waiting;
  std::shared_ptr<const robots> rules;
  {
    const std::lock_guard lock(mutex_);
    auto& s = sites_[origin];
    const bool failed = !page.error.empty() || page.status >= 500;
    s.rules = std::make_shared<const robots>(failed               ? robots::disallow_all()
                                             : page.status >= 400 ? robots::allow_all()
                                                                  : robots{page.content});
    s.until = clock::now()
              + (failed ? std::chrono::steady_clock::duration{when_failed}
                        : std::chrono::steady_clock::duration{fresh});
    rules = s.rules;
    waiting.swap(s.waiting);
  }
  for (auto& decide : waiting)
    decide(*rules);
}

} // namespace lycosa::crawl
