#include "actors/job_events.hpp"

#include "actors/meters.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

/// Bytes of a run's output in the hub: the whole is with the job's runs.
constexpr std::size_t output_kept = 2048;

event_item to_item(jobs::job_event e) {
  auto& r = e.run.result;
  if (r.output.size() > output_kept) {
    auto from = r.output.size() - output_kept;
    while (from < r.output.size() && (static_cast<unsigned char>(r.output[from]) & 0xC0U) == 0x80U)
      ++from; // not from the middle of a character
    r.output = r.output.substr(from);
    r.output_cut = true;
  }
  event_item item;
  item.type = static_cast<unsigned>(e.kind);
  item.at = e.at;
  item.job = e.job_id;
  // Its parts and, later, its JSON.
  item.bytes = 512 + 2 * (r.output.size() + r.value.size() + r.error.size() + e.run.reason.size());
  item.json = [e = std::move(e)] { return jobs::to_json(e); };
  return item;
}

} // namespace

struct job_events::listener {
  jobs::event_mask mask = 0;
  std::size_t limit = 1;
  std::function<void(const jobs::job_event&)> on_event;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<jobs::job_event> buffer;
  std::uint64_t missing = 0; ///< events that found the buffer full since the last one taken
  wall_time missing_since{};
  bool ended = false;

  void push(const jobs::job_event& e) {
    {
      const std::lock_guard lock(mutex);
      if (buffer.size() >= limit) {
        if (missing++ == 0) missing_since = e.at;
        return;
      }
      // What was missed stands before what came after it.
      if (missing > 0) {
        buffer.push_back({jobs::event_kind::gap, missing_since, {}, {}, missing});
        missing = 0;
      }
      buffer.push_back(e);
    }
    changed.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ended || !buffer.empty() || missing > 0; });
      if (ended) return;
      jobs::job_event e;
      if (buffer.empty()) {
        e = {jobs::event_kind::gap, missing_since, {}, {}, missing};
        missing = 0;
      } else {
        e = std::move(buffer.front());
        buffer.pop_front();
      }
      lock.unlock();
      on_event(e);
      lock.lock();
    }
  }
};

class job_events::subscription final : public event_subscription {
public:
  subscription(std::shared_ptr<job_events> bus, std::shared_ptr<listener> who)
      : bus_(std::move(bus)), who_(std::move(who)), thread_([who = who_] { who->run(); }) {}
  ~subscription() override {
    {
      const std::lock_guard lock(bus_->mutex_);
      std::erase(bus_->listeners_, who_);
    }
    {
      const std::lock_guard lock(who_->mutex);
      who_->ended = true;
    }
    who_->changed.notify_one();
    if (thread_.get_id() == std::this_thread::get_id())
      thread_.detach(); // ended from inside its callback; the thread holds what it needs
    else
      thread_.join();
  }
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

private:
  std::shared_ptr<job_events> bus_;
  std::shared_ptr<listener> who_;
  std::thread thread_;
};

std::unique_ptr<event_subscription>
job_events::subscribe(jobs::event_mask mask, std::size_t buffer,
                      std::function<void(const jobs::job_event&)> on_event) {
  auto who = std::make_shared<listener>();
  who->mask = mask;
  who->limit = std::max<std::size_t>(buffer, 1);
  who->on_event = std::move(on_event);
  {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(who);
  }
  return std::make_unique<subscription>(shared_from_this(), std::move(who));
}

void job_events::publish(std::vector<jobs::job_event> events) {
  if (events.empty()) return;
  if (meters_) measure(events);
  std::vector<std::shared_ptr<listener>> to;
  {
    const std::lock_guard lock(mutex_);
    to = listeners_;
  }
  for (const auto& who : to)
    for (const auto& e : events)
      if (who->mask & jobs::mask_of(e.kind)) who->push(e);
  if (hub_ == nullptr) return;
  std::vector<event_item> items;
  items.reserve(events.size());
  for (auto& e : events)
    items.push_back(to_item(std::move(e)));
  hub_->publish(std::move(items));
}

void job_events::measure(const std::vector<jobs::job_event>& events) {
  using seconds = std::chrono::duration<double>;
  histogram::batch late(meters_->job_lateness);
  histogram::batch took(meters_->job_durations);
  for (const auto& e : events) {
    const auto& r = e.run;
    if (e.kind == jobs::event_kind::job_started && r.attempt == 0)
      late.add(seconds(std::max(r.late, usec{0})).count());
    if ((e.kind == jobs::event_kind::job_executed || e.kind == jobs::event_kind::job_error)
        && r.started && r.ended)
      took.add(seconds(std::max(*r.ended - *r.started, usec{0})).count());
  }
  meters_->job_lateness.add(late);
  meters_->job_durations.add(took);
}

jobs::event_mask job_events::wanted() const {
  const std::lock_guard lock(mutex_);
  if (hub_ != nullptr) return jobs::all_events;
  jobs::event_mask all = 0;
  for (const auto& who : listeners_)
    all |= who->mask;
  return all;
}

} // namespace lycosa::actors
