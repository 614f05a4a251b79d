#include "core/counter_line.hpp"

#include <algorithm>
#include <cmath>

namespace lycosa {

namespace {

using entry = std::pair<std::string, event_values>;

constexpr std::size_t most = 5;    ///< projects named
constexpr std::size_t failing = 2; ///< of them for their failures

double activity(const event_values& e) {
  return e.pending + e.success + e.retry + e.failed;
}

std::string whole(double n) {
  return std::to_string(std::llround(n));
}

} // namespace

std::string counter_line(std::vector<entry> projects) {
  event_values sum;
  for (const auto& [name, e] : projects) {
    sum.pending += e.pending;
    sum.success += e.success;
    sum.retry += e.retry;
    sum.failed += e.failed;
  }
  if (activity(sum) == 0) return {};
  std::string line = "in 5m: new:" + whole(sum.pending) + ",success:" + whole(sum.success)
                     + ",retry:" + whole(sum.retry) + ",failed:" + whole(sum.failed);
  const auto bring_forward = [](auto from, auto to, std::size_t n, auto weight) {
    const auto middle = from + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(n), to - from);
    std::partial_sort(from, middle, to, [&](const entry& a, const entry& b) {
      return std::pair{weight(b.second), a.first} < std::pair{weight(a.second), b.first};
    });
    return middle;
  };
  auto fails = bring_forward(projects.begin(), projects.end(), failing,
                             [](const event_values& e) { return e.failed; });
  fails =
      std::find_if(projects.begin(), fails, [](const entry& p) { return p.second.failed == 0; });
  const auto left = most - static_cast<std::size_t>(fails - projects.begin());
  auto busy = bring_forward(fails, projects.end(), left, activity);
  std::rotate(projects.begin(), fails, busy); // the busy first, then those that fail
  for (auto p = projects.begin(); p != busy; ++p) {
    if (activity(p->second) == 0) continue;
    line += ' ' + p->first + ':' + whole(p->second.pending) + ',' + whole(p->second.success) + ','
            + whole(p->second.retry) + ',' + whole(p->second.failed);
  }
  return line;
}

} // namespace lycosa
