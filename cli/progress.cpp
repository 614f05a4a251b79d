#include "cli/progress.hpp"

#include "cli/table.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace lycosa::cli {

progress::progress(std::ostream& err, bool draw, std::uint64_t total, std::string unit)
    : err_(err), draw_(draw), total_(total), unit_(std::move(unit)),
      started_(std::chrono::steady_clock::now()), last_() {}

progress::~progress() {
  clear();
}

void progress::update(std::uint64_t position, std::uint64_t items) {
  if (!draw_) return;
  auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds{100}) return;
  last_ = now;
  draw(position, items);
}

void progress::draw(std::uint64_t position, std::uint64_t items) {
  std::chrono::duration<double> spent = last_ - started_;
  auto rate = spent.count() > 0 ? static_cast<double>(items) / spent.count() : 0.0;
  std::string line = "\r\x1b[K";
  if (total_ > 0) {
    constexpr std::size_t width = 30;
    auto share = std::min(1.0, static_cast<double>(position) / static_cast<double>(total_));
    auto filled = static_cast<std::size_t>(share * width);
    line += "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "] "
            + std::to_string(static_cast<int>(share * 100)) + "%  ";
    if (share > 0 && share < 1) {
      auto left = spent.count() * (1 - share) / share;
      line += std::to_string(static_cast<std::uint64_t>(left) + 1) + "s left  ";
    }
  }
  line += grouped(items) + " " + unit_ + "  " + grouped(static_cast<std::uint64_t>(rate)) + "/s";
  err_ << line << std::flush;
  shown_ = true;
}

void progress::clear() {
  if (shown_) err_ << "\r\x1b[K" << std::flush;
  shown_ = false;
}

} // namespace lycosa::cli
