#include "cli/bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lycosa::cli::bench {

namespace {

constexpr double width = 760, height = 420;
constexpr double left = 80, right = 20, top = 64, bottom = 60;

constexpr std::string_view style = R"(<style>
  .sheet { fill: #ffffff; }
  .grid { stroke: #d8dce2; stroke-width: 1; }
  .axis { stroke: #5b6472; stroke-width: 1; }
  text { font: 12px system-ui, sans-serif; fill: #3b424d; }
  .title { font-size: 16px; font-weight: 600; fill: #14171c; }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .c0 { stroke: #1f6fd1; } .c1 { stroke: #c2571a; } .c2 { stroke: #2c8a4b; }
  .c3 { stroke: #8a3fb0; } .c4 { stroke: #a8831a; } .c5 { stroke: #2a8c93; }
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #16191e; }
    .grid { stroke: #2e343d; }
    .axis { stroke: #8d97a6; }
    text { fill: #b9c1cd; }
    .title { fill: #f0f3f7; }
    .c0 { stroke: #6aa9f4; } .c1 { stroke: #f09a63; } .c2 { stroke: #6fcf8e; }
    .c3 { stroke: #c98bea; } .c4 { stroke: #e2c055; } .c5 { stroke: #6ccdd4; }
  }
</style>
)";
constexpr std::size_t colours = 6;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string number(double v) {
  if (v >= 1e6) return fmt::format("{:.6g}M", v / 1e6);
  if (v >= 1e4) return fmt::format("{:.6g}k", v / 1e3);
  return fmt::format("{:.6g}", v);
}

/// Round numbers from 0 to past `most`, about five.
std::vector<plot::tick> ticks_to(double most) {
  const auto step = round_up(most / 5);
  std::vector<plot::tick> out;
  for (int i = 0;; ++i) {
    const auto at = step * i;
    out.push_back({at, number(at)});
    if (at >= most && i > 0) return out;
  }
}

void text(std::string& to, double x, double y, std::string_view anchor, std::string_view what,
          std::string_view more = {}) {
  to += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", x, y, anchor,
                    more, escaped(what));
  to += '\n';
}

void rule(std::string& to, std::string_view kind, double x1, double y1, double x2, double y2) {
  to += fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", kind,
                    x1, y1, x2, y2);
  to += '\n';
}

} // namespace

double round_up(double least) {
  if (!(least > 0) || !std::isfinite(least)) return 1;
  const auto power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (power * times >= least * (1 - 1e-12)) return power * times;
  return power * 10;
}

std::string to_svg(const plot& p) {
  double most_x = 0, most_y = 0;
  for (const auto& l : p.lines)
    for (const auto& [x, y] : l.points) {
      most_x = std::max(most_x, x);
      most_y = std::max(most_y, y);
    }
  const auto ys = ticks_to(most_y);
  auto xs = p.x_ticks.empty() ? ticks_to(most_x) : p.x_ticks;
  // The curve goes to the right edge; of round numbers the one past it is not shown.
  if (p.x_ticks.empty() && most_x > 0 && xs.back().at > most_x) xs.pop_back();
  const double end_x = std::max(xs.back().at, most_x), end_y = ys.back().at;
  const auto at_x = [&](double x) {
    return left + (end_x > 0 ? x / end_x : 0) * (width - left - right);
  };
  const auto at_y = [&](double y) { return height - bottom - y / end_y * (height - top - bottom); };

  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)",
      width, height);
  out += '\n';
  out += "<title>" + escaped(p.title) + "</title>\n";
  out += style;
  out += fmt::format("<rect class=\"sheet\" width=\"{}\" height=\"{}\"/>\n", width, height);
  text(out, left, 24, "start", p.title, " class=\"title\"");
  text(out, left, 42, "start", p.subtitle);
  for (const auto& t : ys) {
    rule(out, "grid", left, at_y(t.at), width - right, at_y(t.at));
    text(out, left - 8, at_y(t.at) + 4, "end", t.text);
  }
  for (const auto& t : xs) {
    rule(out, "axis", at_x(t.at), height - bottom, at_x(t.at), height - bottom + 5);
    text(out, at_x(t.at), height - bottom + 20, "middle", t.text);
  }
  rule(out, "axis", left, height - bottom, width - right, height - bottom);
  rule(out, "axis", left, top, left, height - bottom);
  text(out, (left + width - right) / 2, height - 12, "middle", p.x_title);
  const auto middle = (top + height - bottom) / 2;
  text(out, 18, middle, "middle", p.y_title,
       fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle));
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    const auto& l = p.lines[i];
    out += fmt::format("<polyline class=\"curve c{}\" points=\"", i % colours);
    for (const auto& [x, y] : l.points)
      out += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
    out += "\"/>\n";
    if (p.lines.size() < 2) continue;
    const auto y = top + 10 + 18 * static_cast<double>(i);
    rule(out, fmt::format("curve c{}", i % colours), left + 14, y, left + 38, y);
    text(out, left + 44, y + 4, "start", l.name);
  }
  return out + "</svg>\n";
}

} // namespace lycosa::cli::bench
