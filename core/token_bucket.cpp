#include "core/token_bucket.hpp"

#include "core/saturating.hpp"

#include <algorithm>
#include <cmath>

namespace lycosa {
namespace {

__extension__ using wide = unsigned __int128;

constexpr wide token = 1'000'000'000'000'000'000; // of level
constexpr double most = 1e9;

double sane(double x) {
  return x > 0 ? std::min(x, most) : 0;
}

wide scaled(double x, long double scale) {
  return static_cast<wide>(std::round(static_cast<long double>(x) * scale));
}

} // namespace

token_bucket::token_bucket(double rate, double burst, mono_time now) : at_(now) {
  set(rate, burst, now);
  level_ = burst_;
}

void token_bucket::set(double rate, double burst, mono_time now) {
  refill(now);
  rate_given_ = sane(rate);
  burst_given_ = sane(burst);
  rate_ = scaled(rate_given_, 1e12L);
  burst_ = scaled(burst_given_, 1e18L);
  level_ = std::min(level_, burst_);
}

std::uint64_t token_bucket::take(std::uint64_t n, mono_time now) {
  refill(now);
  if (level_ < token) return 0;
  const auto taken = std::min(n, static_cast<std::uint64_t>(level_ / token));
  level_ -= taken * token;
  return taken;
}

void token_bucket::give_back(std::uint64_t n) {
  const auto room = burst_ - level_;
  // n · token cannot overflow: both are below 2⁶⁴.
  level_ += std::min(room, n * token);
}

std::uint64_t token_bucket::available(mono_time now) const {
  return static_cast<std::uint64_t>(level_at(now) / token);
}

std::optional<mono_time> token_bucket::next_token_at(mono_time now) const {
  const auto level = level_at(now);
  if (level >= token) return now;
  if (rate_ == 0 || burst_ < token) return std::nullopt;
  const auto wait = (token - level + rate_ - 1) / rate_; // ≤ 10¹⁸ µs
  return saturating_add(std::max(now, at_), usec{static_cast<std::int64_t>(wait)});
}

token_bucket::wide token_bucket::level_at(mono_time now) const {
  if (now <= at_) return level_;
  // Unsigned: the difference of any two moments fits.
  const auto elapsed = static_cast<std::uint64_t>(now.time_since_epoch().count())
                       - static_cast<std::uint64_t>(at_.time_since_epoch().count());
  const auto room = burst_ - level_;
  // A rate is below 2⁷⁰, so this product fits for 9,000 years; past that division decides.
  if (elapsed < (std::uint64_t{1} << 58)) return level_ + std::min(room, rate_ * elapsed);
  if (rate_ == 0) return level_;
  return elapsed >= room / rate_ ? burst_ : level_ + rate_ * elapsed;
}

void token_bucket::refill(mono_time now) {
  level_ = level_at(now);
  at_ = std::max(at_, now);
}

} // namespace lycosa
