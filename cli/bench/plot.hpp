#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lycosa::cli::bench {

/// A plot of lines with a title and two named axes. Values are finite and ≥ 0.
struct plot {
  struct line {
    std::string name;                              ///< shown in the legend
    std::vector<std::pair<double, double>> points; ///< in order of x
  };
  struct tick {
    double at = 0;
    std::string text;
  };
  std::string title, subtitle;
  std::string x_title, y_title; ///< with units
  std::vector<tick> x_ticks;    ///< empty = round numbers from 0
  std::vector<line> lines;
};

/// The plot as a whole SVG document, light or dark as its viewer prefers.
[[nodiscard]] std::string to_svg(const plot& p);

/// A round number ≥ `least` (1, 2 or 5 times a power of ten); 1 for anything that is not above 0.
[[nodiscard]] double round_up(double least);

} // namespace lycosa::cli::bench
