#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where everything that happens in a node can be followed from: the latest events in a ring, and
/// readers that each have a place in it. A reader that is too slow loses its place, not the hub
/// its memory: what it missed is told to it as one gap.
namespace lycosa::actors {

struct event_hub_config {
  std::size_t count = 10'000;                 ///< latest events kept, ≥ 1
  std::size_t bytes = std::size_t{16} << 20U; ///< about what they may take, at least one is kept
};

/// What a publisher hands in.
struct event_item {
  unsigned type = 0; ///< position in the hub's list of types
  wall_time at{};
  std::string project, job; ///< what it is about; empty = nothing of the kind
  std::size_t bytes = 0;    ///< about what keeping it takes
  /// Its JSON, one line. Called once, when somebody reads it, on a reader's thread.
  std::function<std::string()> json;
};

/// One event, shared by all who read it.
class hub_event {
public:
  hub_event(std::uint64_t epoch, std::uint64_t number, std::string type, event_item item)
      : type(std::move(type)), epoch_(epoch), number_(number), item_(std::move(item)) {}

  const std::string type;

  /// `EPOCH-NUMBER`: tells events of an earlier start of the node from this one's.
  [[nodiscard]] std::string id() const {
    return std::to_string(epoch_) + "-" + std::to_string(number_);
  }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const event_item& item() const { return item_; }
  /// One line of JSON; made by the first who asks.
  [[nodiscard]] const std::string& json() const {
    std::call_once(made_, [this] {
      json_ = item_.json();
      item_.json = nullptr;
    });
    return json_;
  }

private:
  std::uint64_t epoch_, number_;
  mutable event_item item_;
  mutable std::once_flag made_;
  mutable std::string json_;
};
using hub_event_ptr = std::shared_ptr<const hub_event>;

/// Which events a reader is given.
struct event_filter {
  std::uint64_t types = ~std::uint64_t{0}; ///< bits by position in the hub's list
  std::string project, job;                ///< empty = any, and none
};

struct event_batch {
  std::vector<hub_event_ptr> events;
  bool ended = false; ///< nothing will come after these
};

/// One listener's place among the events. One thread at a time; destroying it ends it.
class event_reader {
public:
  virtual ~event_reader() = default;
  /// The next events, oldest first, until `max_events` or about `max_bytes`; empty when there are
  /// none yet. For events the ring held no more stands one of type `GAP`.
  virtual event_batch take(std::size_t max_events, std::size_t max_bytes) = 0;
  /// Calls `wake` once, as soon as `take` has something or the hub is closed; possibly at once. On
  /// any thread; must not block. May come after the reader's end when that was under way.
  virtual void wait(std::function<void()> wake) = 0;
};

/// All calls from any thread. Readers may outlive the hub.
class event_hub {
public:
  /// `types`: names, at most 64. `epoch`: differs from every earlier start's.
  event_hub(std::vector<std::string> types, std::uint64_t epoch, event_hub_config config = {});
  ~event_hub();
  event_hub(const event_hub&) = delete;
  event_hub& operator=(const event_hub&) = delete;

  /// Appends them in order. Takes the same short time however many read.
  void publish(std::vector<event_item> items);

  /// Reads on after the event with the id `after`; `0` = from the oldest that is held; none = what
  /// comes from now on. Fails with `invalid_argument` for what is no id.
  [[nodiscard]] result<std::unique_ptr<event_reader>>
  read(event_filter filter, std::optional<std::string_view> after = std::nullopt);

  /// The filter for a list of names such as `job_error,JOB_MISSED`; empty = all. A leading `EVENT_`
  /// and the case do not matter; a number stands for its bits, as APScheduler's masks. The error is
  /// about the field `types` and tells the known names.
  [[nodiscard]] result<std::uint64_t> types_of(std::string_view names) const;

  /// Readers come to their end after what is held.
  void close();

  /// Readers that have not been destroyed.
  [[nodiscard]] std::size_t readers() const;

private:
  struct state;
  class reader;
  std::shared_ptr<state> state_;
};

} // namespace lycosa::actors
