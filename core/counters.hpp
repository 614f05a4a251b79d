#pragma once

#include "core/lifecycle.hpp"
#include "core/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// pyspider's counters: what happened lately, as sums and averages. Wall-clock time, because they
/// outlive the process; a clock that is set back costs the counts of the time that is undone.
namespace lycosa {

/// All there ever was.
class total_counter {
public:
  void event(double value = 1) { count_ += value; }
  void value(double value) { count_ = value; }
  [[nodiscard]] double sum() const noexcept { return count_; }
  [[nodiscard]] double avg() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

private:
  double count_ = 0;
};

/// The last `size` values.
class average_window_counter {
public:
  /// Precondition: size > 0.
  explicit average_window_counter(std::size_t size = 300) : size_(size) {}

  void event(double value = 1);
  [[nodiscard]] double sum() const noexcept;
  [[nodiscard]] double avg() const noexcept; ///< 0 when empty
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }

private:
  std::size_t size_;
  std::size_t oldest_ = 0; ///< where the next value goes once the window is full
  std::vector<double> values_;
};

/// The events of the last `size` spans of `interval`: a slot a span, opened by the first event
/// after the last slot's end. While the counter is younger than its window, averages are over its
/// age. Costs 24 B a slot that is in use, nothing before the first event.
///
/// Invariant: slots are in order of start, none starts later than the last moment seen.
class time_window {
public:
  /// Preconditions: 0 < size ≤ 65536, interval > 0.
  time_window(std::size_t size, usec interval) : max_size_(size), interval_(interval) {}

  /// Adds to the open slot.
  void event(double value, wall_time now);
  /// Sets the open slot to one event of this value.
  void value(double value, wall_time now);

  [[nodiscard]] double sum(wall_time now);
  [[nodiscard]] double events(wall_time now);
  [[nodiscard]] double per_second(wall_time now); ///< sum over the window's seconds
  [[nodiscard]] double per_event(wall_time now);  ///< sum over the events
  [[nodiscard]] bool empty(wall_time now);
  /// Adds the events to bins of `interval`, the last of which ends at `until`; a slot that lies in
  /// two of them is shared out by time.
  void spread(wall_time now, wall_time until, std::span<double> bins);

  void save(std::string& out) const;
  /// Takes what `save` wrote off the front of `in`. False, and empty, if it is something else.
  bool restore(std::string_view& in);

private:
  struct slot {
    wall_time start{};
    double sum = 0;
    std::uint64_t events = 0;
  };

  slot& open_slot(wall_time now);
  void close_slot();
  void undo_future(wall_time now);
  void trim(wall_time now);

  std::size_t max_size_;
  usec interval_;
  double size_ = 0; ///< spans looked at: grows to max_size_ with the age of the counter
  std::optional<wall_time> first_;
  std::optional<slot> open_;
  std::vector<slot> closed_;
};

/// pyspider's TimebaseAverageWindowCounter: average = events a second.
class window_counter : public time_window {
public:
  explicit window_counter(std::size_t size = 30, usec interval = std::chrono::seconds{10})
      : time_window(size, interval) {}
  [[nodiscard]] double avg(wall_time now) { return per_second(now); }
};

/// pyspider's TimebaseAverageEventCounter: average = value of an event.
class event_counter : public time_window {
public:
  explicit event_counter(std::size_t size = 30, usec interval = std::chrono::seconds{10})
      : time_window(size, interval) {}
  [[nodiscard]] double avg(wall_time now) { return per_event(now); }
};

enum class counter_window : std::uint8_t { five_minutes, hour, day };
enum class counter_kind : std::uint8_t { sum, avg };

struct event_values {
  double pending = 0;
  double success = 0;
  double retry = 0;
  double failed = 0;
};

/// Seconds that crawls took in the last five minutes.
struct time_values {
  double fetch_time = 0;
  double process_time = 0;
};

/// How many crawls were reported lately, whatever came of them: the last five minutes in steps.
struct handled_values {
  static constexpr usec step = std::chrono::seconds{10};
  wall_time until{}; ///< where the last step ends; a multiple of `step`, so that steps of all
                     ///< projects are the same
  std::array<double, 30> counts{};
};

/// What a project counts. The totals ("all") are not here: they are the states of its tasks, which
/// the store keeps.
class project_counters {
public:
  /// Adds a decision's events to all windows. Negative counts are not counted.
  void record(const counter_delta& delta, wall_time now);
  /// Adds the times of a report, in seconds; those that are absent, negative or not finite are not.
  void record_times(std::optional<double> fetch, std::optional<double> process, wall_time now);

  [[nodiscard]] event_values read(counter_window window, counter_kind kind, wall_time now);
  [[nodiscard]] time_values times(counter_kind kind, wall_time now);
  [[nodiscard]] handled_values handled(wall_time now);

  /// Bytes for the disk; versioned, independent of the machine's byte order.
  [[nodiscard]] std::string save() const;
  /// The counters of `save`'s bytes; none for anything else.
  [[nodiscard]] static std::optional<project_counters> restore(std::string_view bytes);

private:
  static constexpr std::size_t kinds = 4; ///< pending, success, retry, failed
  using events = std::array<window_counter, kinds>;

  static events windows(std::size_t size, usec interval);
  template <class Self, class F>
  static bool for_each(Self& self, F&& f);

  std::array<events, 3> events_{windows(30, std::chrono::seconds{10}),
                                windows(60, std::chrono::seconds{60}),
                                windows(144, std::chrono::seconds{600})};
  event_counter fetch_time_;
  event_counter process_time_;
};

} // namespace lycosa
