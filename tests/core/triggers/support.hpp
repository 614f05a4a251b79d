#pragma once

#include "core/triggers/spec.hpp"
#include "core/triggers/time_text.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace lycosa::trigger {

inline wall_time moment(std::string_view iso) {
  return parse_time_text(iso, "time").value().in(zone{});
}

/// A trigger from text, in a zone; a test's failure when it is refused.
inline trigger make(std::string_view text, std::string_view zone_name = "UTC",
                    std::uint64_t seed = 0) {
  compile_options options;
  options.default_zone = zone::find(zone_name).value();
  options.seed = seed;
  const auto s = parse_spec_text(text);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().text());
  if (!s) return {};
  const auto t = compile(*s, options);
  EXPECT_TRUE(t) << text << ": " << (t ? "" : t.error().text());
  return t ? *t : trigger{};
}

/// The next `n` times from `from` on, as the zone's clocks show them.
inline std::vector<std::string> times(const trigger& t, std::string_view from, std::size_t n) {
  std::vector<std::string> out;
  for (auto at : t.upcoming(std::nullopt, moment(from), n))
    out.push_back(to_iso(at, t.timezone()));
  return out;
}

/// "field: reason" of a refused text; empty when it is taken.
inline std::string refusal(std::string_view text) {
  const auto s = parse_spec_text(text);
  if (!s) return s.error().text();
  const auto t = compile(*s);
  return t ? "" : t.error().text();
}

using list = std::vector<std::string>;

} // namespace lycosa::trigger
