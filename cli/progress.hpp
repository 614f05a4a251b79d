#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace lycosa::cli {

/// A bar that redraws one line of a terminal, at most ten times a second; draws nothing when no
/// person watches. `total` 0 = unknown: shows a running count instead.
class progress {
public:
  progress(std::ostream& err, bool draw, std::uint64_t total, std::string unit);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// `position` of `total` is reached; `items` have been handled so far.
  void update(std::uint64_t position, std::uint64_t items);

  /// Wipes the bar, so that a line can be written; the next update draws it again.
  void clear();

private:
  void draw(std::uint64_t position, std::uint64_t items);

  std::ostream& err_;
  bool draw_;
  bool shown_ = false;
  std::uint64_t total_;
  std::string unit_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
};

} // namespace lycosa::cli
