#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lycosa::crawl {

/// A robots.txt, understood (RFC 9309): the groups of the most specific agent named, the longest
/// matching rule, allow before disallow when equally long, `*` and `$` in paths.
class robots {
public:
  /// `text`: at most the first 500 KiB are read, as the RFC allows.
  explicit robots(std::string_view text);
  /// One that allows everything (no robots.txt) or nothing (it could not be read for now).
  [[nodiscard]] static robots allow_all() { return robots{""}; }
  [[nodiscard]] static robots disallow_all() { return robots{"User-agent: *\nDisallow: /"}; }

  /// `agent`: a product token or a whole User-Agent; `path`: with the query, beginning with `/`.
  [[nodiscard]] bool allows(std::string_view agent, std::string_view path) const;

private:
  struct rule {
    bool allow = false;
    std::string pattern;
  };
  struct group {
    std::vector<std::string> agents; ///< lower case
    std::vector<rule> rules;
  };
  std::vector<group> groups_;
};

} // namespace lycosa::crawl
