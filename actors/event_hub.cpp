#include "actors/event_hub.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <thread>
#include <unordered_set>

namespace lycosa::actors {

namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string gap_json(wall_time at, std::optional<std::uint64_t> missing) {
  const auto us = at.time_since_epoch().count();
  auto fraction = std::to_string(us % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  std::string out = R"({"type":"GAP","at":)" + std::to_string(us / 1'000'000) + "." + fraction;
  // How much of an earlier start is missing is not known any more.
  if (!missing) return out + R"(,"missing":null,"earlier_run":true})";
  return out + ",\"missing\":" + std::to_string(*missing) + "}";
}

} // namespace

struct event_hub::state {
  std::vector<std::string> types;
  std::uint64_t epoch = 0;
  event_hub_config config;

  mutable std::mutex mutex;
  std::deque<hub_event_ptr> ring;
  std::size_t bytes = 0;
  std::uint64_t last = 0; ///< number of the newest event
  std::unordered_set<reader*> readers;
  std::size_t waiting = 0; ///< readers that asked to be woken
  bool closed = false;
  // Waking many takes time that publishers must not spend: a thread of its own does it.
  std::condition_variable news;
  bool changed = false;
  bool ending = false;
  std::thread waker;

  [[nodiscard]] std::uint64_t first() const { return last + 1 - ring.size(); }
  void wake_all();
};

class event_hub::reader final : public event_reader {
public:
  reader(std::shared_ptr<state> s, event_filter filter)
      : s_(std::move(s)), filter_(std::move(filter)) {}
  ~reader() override {
    const std::lock_guard lock(s_->mutex);
    s_->readers.erase(this);
    if (wake_) --s_->waiting;
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  event_batch take(std::size_t max_events, std::size_t max_bytes) override {
    event_batch out;
    const std::lock_guard lock(s_->mutex);
    if (other_run_) {
      other_run_ = false;
      gap(out, std::nullopt);
    }
    if (next_ < s_->first()) {
      const auto missing = s_->first() - next_;
      next_ = s_->first();
      gap(out, missing);
    }
    for (std::size_t bytes = 0;
         next_ <= s_->last && out.events.size() < max_events && bytes < max_bytes; ++next_) {
      const auto& e = at(next_);
      if (!matches(*e)) continue;
      bytes += e->item().bytes;
      out.events.push_back(e);
    }
    out.ended = s_->closed && next_ > s_->last;
    return out;
  }

  void wait(std::function<void()> wake) override {
    {
      const std::lock_guard lock(s_->mutex);
      if (!ready()) {
        if (!wake_) ++s_->waiting;
        wake_ = std::move(wake);
        return;
      }
    }
    wake();
  }

  /// With the hub locked: what to call if there is something for it.
  std::function<void()> due() {
    if (!wake_ || !ready()) return nullptr;
    --s_->waiting;
    return std::exchange(wake_, nullptr);
  }

private:
  friend class event_hub;

  [[nodiscard]] const hub_event_ptr& at(std::uint64_t number) const {
    return s_->ring[number - s_->first()];
  }
  [[nodiscard]] bool matches(const hub_event& e) const {
    const auto& i = e.item();
    return (filter_.types >> i.type & 1U) != 0
           && (filter_.project.empty() || filter_.project == i.project)
           && (filter_.job.empty() || filter_.job == i.job);
  }
  /// Also goes past what is not for it, so that it does not lose its place meanwhile.
  [[nodiscard]] bool ready() {
    if (other_run_ || s_->closed || next_ < s_->first()) return true;
    while (next_ <= s_->last && !matches(*at(next_)))
      ++next_;
    return next_ <= s_->last;
  }
  void gap(event_batch& out, std::optional<std::uint64_t> missing) const {
    event_item item;
    item.at = std::chrono::time_point_cast<usec>(std::chrono::system_clock::now());
    item.json = [at = item.at, missing] { return gap_json(at, missing); };
    // Its id is that of the last event that is missing: to read on after it misses nothing more.
    out.events.push_back(
        std::make_shared<const hub_event>(s_->epoch, next_ - 1, "GAP", std::move(item)));
  }

  std::shared_ptr<state> s_;
  event_filter filter_;
  std::uint64_t next_ = 1;
  bool other_run_ = false; ///< it was last told of events of an earlier start
  std::function<void()> wake_;
};

void event_hub::state::wake_all() {
  std::unique_lock lock(mutex);
  std::vector<std::function<void()>> due;
  for (;;) {
    news.wait(lock, [this] { return changed || ending; });
    changed = false;
    if (waiting > 0)
      for (auto* r : readers)
        if (auto wake = r->due()) due.push_back(std::move(wake));
    if (ending && due.empty()) return;
    lock.unlock();
    for (const auto& wake : due)
      wake();
    due.clear();
    lock.lock();
  }
}

event_hub::event_hub(std::vector<std::string> types, std::uint64_t epoch, event_hub_config config)
    : state_(std::make_shared<state>()) {
  state_->types = std::move(types);
  state_->epoch = epoch;
  state_->config = config;
  state_->config.count = std::max<std::size_t>(config.count, 1);
}

event_hub::~event_hub() {
  close();
  std::thread waker;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    waker.swap(state_->waker);
  }
  state_->news.notify_all();
  if (waker.joinable()) waker.join();
}

void event_hub::publish(std::vector<event_item> items) {
  if (items.empty()) return;
  auto& s = *state_;
  std::vector<hub_event_ptr> old; // freed outside of the lock
  bool wake = false;
  {
    const std::lock_guard lock(s.mutex);
    if (s.closed) return;
    for (auto& item : items) {
      const auto type = item.type;
      s.bytes += item.bytes;
      s.ring.push_back(std::make_shared<const hub_event>(
          s.epoch, ++s.last, type < s.types.size() ? s.types[type] : std::string{},
          std::move(item)));
      while (s.ring.size() > s.config.count || (s.bytes > s.config.bytes && s.ring.size() > 1)) {
        s.bytes -= s.ring.front()->item().bytes;
        old.push_back(std::move(s.ring.front()));
        s.ring.pop_front();
      }
    }
    if (s.waiting > 0) wake = s.changed = true;
  }
  if (wake) s.news.notify_one();
}

result<std::unique_ptr<event_reader>> event_hub::read(event_filter filter,
                                                      std::optional<std::string_view> after) {
  std::optional<std::uint64_t> epoch, number;
  if (after && *after != "0") {
    const auto dash = after->find('-');
    epoch = number_in(after->substr(0, dash));
    if (dash != std::string_view::npos) number = number_in(after->substr(dash + 1));
    if (!epoch || !number)
      return fail(errc::invalid_argument, "last_event_id",
                  "is no id of an event, such as 1700000000000-17");
  }
  auto made = std::make_unique<reader>(state_, std::move(filter));
  auto& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!after) {
    made->next_ = s.last + 1;
  } else if (epoch && *epoch == s.epoch && *number <= s.last) {
    made->next_ = *number + 1;
  } else {
    made->next_ = s.first();
    made->other_run_ = epoch.has_value();
  }
  s.readers.insert(made.get());
  if (!s.waker.joinable() && !s.ending)
    s.waker = std::thread([state = state_] { state->wake_all(); });
  return made;
}

result<std::uint64_t> event_hub::types_of(std::string_view names) const {
  const auto& known = state_->types;
  std::uint64_t out = 0;
  bool any = false;
  while (!names.empty()) {
    const auto comma = names.find(',');
    auto name = names.substr(0, comma);
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
    while (!name.empty() && name.front() == ' ')
      name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ')
      name.remove_suffix(1);
    if (name.empty()) continue;
    any = true;
    if (const auto mask = number_in(name); mask && *mask >> known.size() == 0) {
      out |= *mask;
      continue;
    }
    auto bare = name;
    if (bare.size() > 6 && same_letters(bare.substr(0, 6), "EVENT_")) bare.remove_prefix(6);
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& k) { return same_letters(k, bare); });
    if (found == known.end()) {
      std::string all;
      for (const auto& k : known)
        all += (all.empty() ? "" : ", ") + k;
      return fail(errc::invalid_argument, "types",
                  "no event is named '" + std::string{name} + "'; there are " + all);
    }
    out |= std::uint64_t{1} << static_cast<unsigned>(found - known.begin());
  }
  return any ? out : ~std::uint64_t{0};
}

void event_hub::close() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->changed = true;
  }
  state_->news.notify_all();
}

std::size_t event_hub::readers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->readers.size();
}

} // namespace lycosa::actors
