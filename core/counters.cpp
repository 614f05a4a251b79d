#include "core/counters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace lycosa {

// -- average_window_counter ----------------------------------------------------------------------

void average_window_counter::event(double value) {
  if (values_.size() < size_) {
    values_.push_back(value);
    return;
  }
  values_[oldest_] = value;
  oldest_ = (oldest_ + 1) % size_;
}

double average_window_counter::sum() const noexcept {
  return std::accumulate(values_.begin(), values_.end(), 0.0);
}

double average_window_counter::avg() const noexcept {
  return values_.empty() ? 0 : sum() / static_cast<double>(values_.size());
}

// -- time_window ---------------------------------------------------------------------------------

void time_window::event(double value, wall_time now) {
  auto& s = open_slot(now);
  s.sum += value;
  ++s.events;
}

void time_window::value(double value, wall_time now) {
  auto& s = open_slot(now);
  s.sum = value;
  s.events = 1;
}

double time_window::sum(wall_time now) {
  trim(now);
  double total = open_ ? open_->sum : 0;
  for (const auto& s : closed_)
    total += s.sum;
  return total;
}

double time_window::events(wall_time now) {
  trim(now);
  auto total = open_ ? open_->events : 0;
  for (const auto& s : closed_)
    total += s.events;
  return static_cast<double>(total);
}

double time_window::per_second(wall_time now) {
  const auto total = sum(now); // trims, which sets size_
  if (size_ <= 0) return 0;
  return total / size_ / std::chrono::duration<double>(interval_).count();
}

double time_window::per_event(wall_time now) {
  const auto n = events(now);
  return n > 0 ? sum(now) / n : 0;
}

bool time_window::empty(wall_time now) {
  trim(now);
  return !open_ && closed_.empty();
}

time_window::slot& time_window::open_slot(wall_time now) {
  undo_future(now);
  if (!first_) first_ = now;
  if (open_ && now - open_->start > interval_) close_slot();
  if (!open_) open_ = slot{now, 0, 0};
  return *open_;
}

void time_window::close_slot() {
  if (closed_.size() == max_size_) closed_.erase(closed_.begin());
  closed_.push_back(*open_);
  open_.reset();
}

/// The clock was set back: what happened "later" is dropped, or it would be counted until the
/// clock comes there again.
void time_window::undo_future(wall_time now) {
  if (!first_
      || (*first_ <= now && (!open_ || open_->start <= now)
          && (closed_.empty() || closed_.back().start <= now)))
    return;
  first_ = std::min(*first_, now);
  if (open_ && open_->start > now) open_.reset();
  while (!closed_.empty() && closed_.back().start > now)
    closed_.pop_back();
}

void time_window::trim(wall_time now) {
  undo_future(now);
  if (open_ && now - open_->start > interval_) close_slot();
  const auto interval = static_cast<double>(interval_.count());
  const auto most = static_cast<double>(max_size_);
  if (first_ && size_ < most)
    size_ = std::min(most, static_cast<double>((now - *first_).count()) / interval);
  const auto limit = now - usec{std::llround(size_ * interval)};
  const auto keep = std::find_if(closed_.begin(), closed_.end(),
                                 [limit](const slot& s) { return s.start >= limit; });
  closed_.erase(closed_.begin(), keep);
}

void time_window::spread(wall_time now, wall_time until, std::span<double> bins) {
  trim(now);
  using seconds = std::chrono::duration<double>;
  const auto width = seconds{interval_}.count();
  const auto count = static_cast<double>(bins.size());
  const auto add = [&](const slot& s, wall_time end) {
    const auto to = seconds{end - until}.count() / width + count;
    const auto from = seconds{s.start - until}.count() / width + count;
    const auto length = std::max(to - from, 1e-9);
    for (auto i = std::max(0.0, std::floor(from)); i < std::min(count, to); ++i)
      bins[static_cast<std::size_t>(i)] +=
          s.sum * std::max(0.0, std::min(to, i + 1) - std::max(from, i)) / length;
  };
  for (const auto& s : closed_)
    add(s, s.start + interval_);
  if (open_) add(*open_, std::max(now, open_->start + usec{1}));
}

// -- bytes ---------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t format = 1;

/// Seven bits a byte, low ones first, the top bit says that more follow.
void put_number(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7U)
    out.push_back(static_cast<char>(n | 0x80U));
  out.push_back(static_cast<char>(n));
}

std::optional<std::uint64_t> take_number(std::string_view& in) {
  std::uint64_t n = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    n |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return n;
  }
  return std::nullopt;
}

std::uint64_t reversed(std::uint64_t x) {
  std::uint64_t y = 0;
  for (int i = 0; i < 8; ++i, x >>= 8U)
    y = (y << 8U) | (x & 0xFFU);
  return y;
}

// A count as a double has its bits at the top: turned round it is a small number.
void put_value(std::string& out, double v) {
  put_number(out, reversed(std::bit_cast<std::uint64_t>(v)));
}

std::optional<double> take_value(std::string_view& in) {
  const auto bits = take_number(in);
  if (!bits) return std::nullopt;
  const auto v = std::bit_cast<double>(reversed(*bits));
  return std::isfinite(v) ? std::optional{v} : std::nullopt;
}

std::uint64_t micros(wall_time t) {
  return static_cast<std::uint64_t>(t.time_since_epoch().count());
}

} // namespace

void time_window::save(std::string& out) const {
  // Number of slots, one more than there are; 0 = there never was an event.
  if (!first_) return put_number(out, 0);
  const auto n = closed_.size() + (open_ ? 1 : 0);
  put_number(out, n + 1);
  put_number(out, open_ ? 1 : 0);
  put_number(out, micros(*first_));
  auto before = *first_;
  const auto put_slot = [&](const slot& s) {
    put_number(out, micros(s.start) - micros(before));
    put_value(out, s.sum);
    put_number(out, s.events);
    before = s.start;
  };
  for (const auto& s : closed_)
    put_slot(s);
  if (open_) put_slot(*open_);
}

bool time_window::restore(std::string_view& in) {
  size_ = 0;
  first_.reset();
  open_.reset();
  closed_.clear();
  const auto broken = [this] {
    first_.reset();
    open_.reset();
    closed_.clear();
    return false;
  };
  const auto count = take_number(in);
  if (!count) return broken();
  if (*count == 0) return true;
  const auto open = take_number(in);
  const auto first = take_number(in);
  const auto n = *count - 1;
  // Times stay where subtracting an interval or another time cannot overflow.
  constexpr auto latest = std::uint64_t{1} << 60;
  if (!open || *open > 1 || *open > n || !first || *first > latest || n - *open > max_size_)
    return broken();
  first_ = wall_time{usec{static_cast<std::int64_t>(*first)}};
  auto at = *first;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto step = take_number(in);
    const auto sum = take_value(in);
    const auto events = take_number(in);
    if (!step || !sum || !events || *step > latest - at) return broken();
    at += *step;
    const slot s{wall_time{usec{static_cast<std::int64_t>(at)}}, *sum, *events};
    if (i + 1 == n && *open == 1)
      open_ = s;
    else
      closed_.push_back(s);
  }
  return true;
}

// -- project_counters ----------------------------------------------------------------------------

project_counters::events project_counters::windows(std::size_t size, usec interval) {
  const window_counter c{size, interval};
  return {c, c, c, c};
}

void project_counters::record(const counter_delta& delta, wall_time now) {
  const std::array<int, kinds> counts{delta.pending, delta.success, delta.retry, delta.failed};
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (counts[kind] <= 0) continue;
    for (auto& window : events_)
      window[kind].event(counts[kind], now);
  }
}

void project_counters::record_times(std::optional<double> fetch, std::optional<double> process,
                                    wall_time now) {
  const auto add = [now](event_counter& to, const std::optional<double>& seconds) {
    if (seconds && std::isfinite(*seconds) && *seconds >= 0) to.event(*seconds, now);
  };
  add(fetch_time_, fetch);
  add(process_time_, process);
}

event_values project_counters::read(counter_window window, counter_kind kind, wall_time now) {
  auto& w = events_[static_cast<std::size_t>(window)];
  const auto value = [&](std::size_t i) {
    return kind == counter_kind::sum ? w[i].sum(now) : w[i].avg(now);
  };
  return {value(0), value(1), value(2), value(3)};
}

time_values project_counters::times(counter_kind kind, wall_time now) {
  if (kind == counter_kind::sum) return {fetch_time_.sum(now), process_time_.sum(now)};
  return {fetch_time_.avg(now), process_time_.avg(now)};
}

handled_values project_counters::handled(wall_time now) {
  handled_values out;
  out.until = now - now.time_since_epoch() % handled_values::step;
  auto& lately = events_[static_cast<std::size_t>(counter_window::five_minutes)];
  for (std::size_t kind = 1; kind < kinds; ++kind) // all but pending
    lately[kind].spread(now, out.until, out.counts);
  return out;
}

template <class Self, class F>
bool project_counters::for_each(Self& self, F&& f) {
  for (auto& window : self.events_)
    for (auto& counter : window)
      if (!f(counter)) return false;
  return f(self.fetch_time_) && f(self.process_time_);
}

std::string project_counters::save() const {
  std::string out;
  put_number(out, format);
  for_each(*this, [&](const time_window& w) {
    w.save(out);
    return true;
  });
  return out;
}

std::optional<project_counters> project_counters::restore(std::string_view bytes) {
  if (take_number(bytes) != format) return std::nullopt;
  project_counters c;
  const auto ok = for_each(c, [&](time_window& w) { return w.restore(bytes); });
  if (!ok || !bytes.empty()) return std::nullopt;
  return c;
}

} // namespace lycosa
