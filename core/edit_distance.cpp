#include "core/edit_distance.hpp"

#include <algorithm>
#include <vector>

namespace lycosa {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 256;
  if (std::max(a.size(), b.size()) > longest) return std::max(a.size(), b.size());
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j)
    d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  auto best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto name : names)
    if (const auto d = edit_distance(word, name); d < best_distance) {
      best_distance = d;
      best = name;
    }
  return best;
}

} // namespace lycosa
