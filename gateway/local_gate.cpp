#include "gateway/local_gate.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lycosa::gateway {

namespace {

/// A call into the node that may come at any time, once.
class held_call final : public local_gate::guest {
public:
  explicit held_call(std::function<void()> call) : call_(std::move(call)) {}
  void run() {
    const std::lock_guard lock(mutex_);
    if (const auto call = std::exchange(call_, nullptr)) call();
  }
  void leave() override {
    const std::lock_guard lock(mutex_);
    call_ = nullptr;
  }

private:
  std::mutex mutex_;
  std::function<void()> call_;
};

class held_parts final : public local_gate::guest {
public:
  using done = std::function<void(result<std::string>)>;
  explicit held_parts(std::function<void(done)> next) : next_(std::move(next)) {}
  void next(done to) {
    {
      const std::lock_guard lock(mutex_);
      if (next_) return next_(std::move(to));
    }
    to(fail(errc::unavailable, "", "the node has been stopped"));
  }
  void leave() override {
    const std::lock_guard lock(mutex_);
    next_ = nullptr;
  }

private:
  std::mutex mutex_;
  std::function<void(done)> next_;
};

/// A stream that ends with the node, whether its client reads or not.
class held_live final : public live_body, public local_gate::guest {
public:
  explicit held_live(std::shared_ptr<live_body> body) : body_(std::move(body)) {
    keep_alive = body_->keep_alive;
    keep_alive_after = body_->keep_alive_after;
  }
  std::optional<std::string> take() override {
    const std::lock_guard lock(mutex_);
    if (!body_) return std::nullopt;
    return body_->take();
  }
  void wait(std::function<void()> wake) override {
    {
      const std::lock_guard lock(mutex_);
      if (body_) {
        wake_ = wake;
        return body_->wait(std::move(wake));
      }
    }
    wake();
  }
  void leave() override {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      body_ = nullptr;
      wake = std::exchange(wake_, nullptr);
    }
    if (wake) wake();
  }

private:
  std::mutex mutex_;
  std::shared_ptr<live_body> body_;
  std::function<void()> wake_;
};

/// Keeps the gate, and with it what handlers work with, until the answer is rendered.
class gated_exchange final : public exchange {
public:
  gated_exchange(std::shared_ptr<local_gate> gate, exchange_ptr to)
      : gate_(std::move(gate)), to_(std::move(to)) {}
  void answer(std::function<response()> render) override {
    to_->answer([gate = gate_, render = std::move(render)] {
      // What was written is kept all the same; what was read may be of the past.
      if (!gate->valid()) return unavailable("this node may not lead the cluster any more");
      auto r = render();
      gate->guard(r);
      return r;
    });
  }
  void cancellable(std::function<void()> cancel, response instead) override {
    const auto held = std::make_shared<held_call>(std::move(cancel));
    gate_->add(held);
    to_->cancellable([held] { held->run(); }, std::move(instead));
  }

private:
  std::shared_ptr<local_gate> gate_;
  exchange_ptr to_;
};

} // namespace

bool local_gate::validity::holds() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<usec>(now).count() < until.load(std::memory_order_relaxed);
}

local_gate::local_gate(actors::node& node, const front_config& config,
                       std::shared_ptr<const validity> valid,
                       std::weak_ptr<shared_state> server)
    : valid_(std::move(valid)), service_{node,
                                        config.limits,
                                        config.event_keep_alive,
                                        config.metrics_projects,
                                        config.version,
                                        std::move(server)},
      xmlrpc_(
          node, config.limits, config.quit ? config.quit : [] {}) {}

bool local_gate::run(front::interface kind, request& r, const exchange_ptr& x) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) return false;
    ++entering_;
  }
  struct leaving {
    local_gate& gate;
    ~leaving() {
      const std::lock_guard lock(gate.mutex_);
      if (--gate.entering_ == 0) gate.left_.notify_all();
    }
  } const at_the_end{*this};
  const auto through = std::make_shared<gated_exchange>(shared_from_this(), x);
  if (kind == front::interface::xmlrpc)
    answer_xmlrpc(xmlrpc_, std::move(r), through);
  else
    route(service_, std::move(r), through);
  return true;
}

void local_gate::close() {
  std::unique_lock lock(mutex_);
  open_ = false;
  left_.wait(lock, [this] { return entering_ == 0; });
}

void local_gate::clear() {
  std::vector<std::weak_ptr<guest>> all;
  {
    const std::lock_guard lock(mutex_);
    cleared_ = true;
    all = std::exchange(guests_, {});
  }
  for (const auto& weak : all)
    if (const auto one = weak.lock()) one->leave();
}

void local_gate::add(const std::shared_ptr<guest>& one) {
  {
    const std::lock_guard lock(mutex_);
    if (!cleared_) {
      if (guests_.size() >= prune_at_) {
        std::erase_if(guests_, [](const auto& weak) { return weak.expired(); });
        prune_at_ = std::max<std::size_t>(64, 2 * guests_.size());
      }
      guests_.push_back(one);
      return;
    }
  }
  one->leave();
}

void local_gate::guard(response& r) {
  if (r.undelivered) {
    const auto held = std::make_shared<held_call>(std::move(r.undelivered));
    add(held);
    r.undelivered = [held] { held->run(); };
  }
  if (r.next_part) {
    const auto held = std::make_shared<held_parts>(std::move(r.next_part));
    add(held);
    r.next_part = [held](held_parts::done to) { held->next(std::move(to)); };
  }
  if (r.live) {
    const auto held = std::make_shared<held_live>(std::move(r.live));
    add(held);
    r.live = held;
  }
}

} // namespace lycosa::gateway
