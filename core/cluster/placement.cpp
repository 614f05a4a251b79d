#include "core/cluster/placement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

// Inlined: a thousand calls a lookup.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lycosa::cluster {
namespace {

/// The same bytes on every machine.
std::array<unsigned char, 8> bytes_of(std::uint64_t v) {
  std::array<unsigned char, 8> b{};
  for (auto& byte : b) {
    byte = static_cast<unsigned char>(v);
    v >>= 8;
  }
  return b;
}

std::uint64_t draw(const std::array<unsigned char, 8>& key, std::uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

/// -weight / ln(u) for u in (0, 1) is what makes shares proportional to weights; it rises with u,
/// so among equal weights the order is that of the numbers drawn.
double weigh(std::uint64_t drawn, double weight) {
  const auto u = (static_cast<double>(drawn >> 11) + 0.5) * 0x1p-53;
  return -weight / std::log(u);
}

} // namespace

placement::placement(const std::vector<member>& members) {
  for (const auto& m : members) {
    if (!(m.weight > 0)) continue;
    const auto name = bytes_of(static_cast<std::uint64_t>(m.node));
    seats_.push_back({m.node, XXH3_64bits(name.data(), name.size()), m.weight});
  }
  std::sort(seats_.begin(), seats_.end(), [](auto& a, auto& b) { return a.node < b.node; });
  const auto twice = [](auto& a, auto& b) { return a.node == b.node; };
  seats_.erase(std::unique(seats_.begin(), seats_.end(), twice), seats_.end());
  equal_ = std::all_of(seats_.begin(), seats_.end(),
                       [&](auto& s) { return s.weight == seats_.front().weight; });
}

node_id placement::owner(std::string_view project) const {
  const auto key = bytes_of(XXH3_64bits(project.data(), project.size()));
  auto best = node_id::none;
  if (equal_) {
    std::uint64_t highest = 0;
    for (const auto& s : seats_)
      if (const auto drawn = draw(key, s.seed); best == node_id::none || drawn > highest) {
        highest = drawn;
        best = s.node;
      }
    return best;
  }
  double highest = 0;
  for (const auto& s : seats_)
    if (const auto w = weigh(draw(key, s.seed), s.weight); best == node_id::none || w > highest) {
      highest = w;
      best = s.node;
    }
  return best;
}

std::vector<node_id> placement::owners(std::string_view project, std::size_t count) const {
  const auto key = bytes_of(XXH3_64bits(project.data(), project.size()));
  struct candidate {
    double weight;
    std::uint64_t drawn;
    node_id node;
  };
  std::vector<candidate> all;
  all.reserve(seats_.size());
  for (const auto& s : seats_) {
    const auto drawn = draw(key, s.seed);
    all.push_back({equal_ ? 0 : weigh(drawn, s.weight), drawn, s.node});
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [&](const candidate& a, const candidate& b) {
                      if (a.weight != b.weight) return a.weight > b.weight;
                      // Of equals the lower node, as `owner` takes the first it sees.
                      if (equal_ && a.drawn != b.drawn) return a.drawn > b.drawn;
                      return a.node < b.node;
                    });
  std::vector<node_id> nodes;
  for (std::size_t i = 0; i < count; ++i)
    nodes.push_back(all[i].node);
  return nodes;
}

} // namespace lycosa::cluster
