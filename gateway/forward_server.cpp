#include "gateway/forward_server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace lycosa::gateway {

// -- threads
// ---------------------------------------------------------------------------------------

forward_threads::forward_threads(unsigned count) {
  for (unsigned i = 0; i < std::max(count, 1U); ++i) {
    all_.push_back(std::make_unique<one>());
    all_.back()->thread = std::thread([&t = *all_.back()] { run(t); });
  }
}

forward_threads::~forward_threads() {
  stop();
}

void forward_threads::post(std::uint64_t number, std::function<void()> work) {
  auto& t = *all_[number % all_.size()];
  const std::lock_guard lock(t.mutex);
  if (t.stopped) return;
  t.work.push_back(std::move(work));
  t.more.notify_one();
}

void forward_threads::run(one& t) {
  std::unique_lock lock(t.mutex);
  for (;;) {
    t.more.wait(lock, [&] { return t.stopped || !t.work.empty(); });
    if (t.stopped) return;
    auto work = std::move(t.work.front());
    t.work.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception& e) {
      spdlog::error("http: a forwarded request: {}", e.what());
    }
    work = nullptr;
    lock.lock();
  }
}

void forward_threads::stop() {
  for (auto& t : all_) {
    std::deque<std::function<void()>> dropped;
    {
      const std::lock_guard lock(t->mutex);
      t->stopped = true;
      dropped = std::exchange(t->work, {});
      t->more.notify_one();
    }
    if (t->thread.joinable()) t->thread.join();
  }
}

// -- one request
// -----------------------------------------------------------------------------------

/// A request that another node has passed on. Touched on its thread only, but for `answered`.
class forward_server::served : public std::enable_shared_from_this<served> {
public:
  served(std::weak_ptr<forward_server> by, key k) : by_(std::move(by)), key_(std::move(k)) {}

  // while it comes in
  request incoming;
  front::interface kind = front::interface::http;
  std::size_t expected = 0;
  bool complete = false;

  [[nodiscard]] const key& name() const { return key_; }
  [[nodiscard]] std::uint64_t number() const { return key_.second; }

  void set_cancel(std::function<void()> cancel) {
    if (over_) return cancel();
    cancel_ = std::move(cancel);
  }

  /// From any thread.
  void answer(std::function<response()> render) {
    const auto by = by_.lock();
    if (!by) return;
    by->threads_.post(key_.second, [self = shared_from_this(), render = std::move(render)] {
      self->begin(render());
    });
  }

  /// The client has gone, or the answer did not reach it.
  void give_up() {
    if (std::exchange(over_, true)) return;
    if (const auto cancel = std::exchange(cancel_, nullptr)) cancel();
    if (const auto undelivered = std::exchange(answer_.undelivered, nullptr)) undelivered();
    let_go();
  }
  /// Its node has gone. What had arrived there may well have reached the client.
  void lose() {
    if (received_) answer_.undelivered = nullptr;
    give_up();
  }
  void credit(std::uint64_t bytes) {
    credit_ += static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, forward_window));
    pump();
  }
  void received() { received_ = true; }
  void done() {
    over_ = true;
    answer_.undelivered = nullptr;
    let_go();
  }

private:
  void begin(response r) {
    if (over_) { // nobody waits any more
      if (r.undelivered) r.undelivered();
      return;
    }
    cancel_ = nullptr;
    answer_ = std::move(r);
    incoming = {};
    begun_ = true;
    wire::forward_head head;
    head.status = static_cast<std::uint16_t>(answer_.status);
    head.content_type = answer_.content_type;
    head.headers = answer_.headers;
    head.live = static_cast<bool>(answer_.live);
    if (head.live) head.keep_alive = answer_.live->keep_alive;
    head.owed = static_cast<bool>(answer_.undelivered);
    const auto first = head.live ? std::string{} : slice();
    head.last = !head.live && !answer_.next_part && sent_ == answer_.body.size();
    ended_ = head.last;
    if (!say(std::move(head), first)) return;
    if (ended_) return finish();
    pump();
  }

  /// The next of the body, which is on its way from then on.
  std::string slice() {
    auto s = answer_.body.substr(sent_, forward_slice);
    sent_ += s.size();
    credit_ -= static_cast<std::int64_t>(s.size());
    return s;
  }

  void pump() {
    while (begun_ && !ended_ && !over_ && credit_ > 0) {
      wire::forward_part part;
      if (answer_.live) {
        auto got = answer_.live->take();
        if (got && got->empty()) return wait_live();
        part.last = !got;
        if (got) part.bytes = std::move(*got);
        credit_ -= static_cast<std::int64_t>(part.bytes.size());
      } else if (sent_ < answer_.body.size()) {
        part.bytes = slice();
        part.last = sent_ == answer_.body.size() && !answer_.next_part;
      } else {
        return ask_part();
      }
      ended_ = part.last;
      if (!say(std::move(part))) return;
    }
    if (ended_) finish();
  }

  void wait_live() {
    if (std::exchange(waiting_, true)) return;
    answer_.live->wait(again([](served& s) {
      s.waiting_ = false;
      s.pump();
    }));
  }

  void ask_part() {
    if (std::exchange(waiting_, true)) return;
    answer_.next_part([weak = weak_from_this()](result<std::string> got) {
      const auto self = weak.lock();
      if (!self) return;
      auto held = std::make_shared<result<std::string>>(std::move(got));
      self->again([held](served& s) {
        s.waiting_ = false;
        s.part_came(std::move(*held));
      })();
    });
  }

  void part_came(result<std::string> got) {
    if (ended_ || over_) return;
    if (!got || got->empty()) {
      wire::forward_part part;
      part.last = static_cast<bool>(got);
      part.broken = !got;
      ended_ = true;
      if (say(std::move(part))) finish();
      return;
    }
    answer_.body = std::move(*got);
    sent_ = 0;
    pump();
  }

  /// To be called on any thread.
  std::function<void()> again(std::function<void(served&)> then) {
    return [weak = weak_from_this(), then = std::move(then)] {
      const auto self = weak.lock();
      const auto by = self ? self->by_.lock() : nullptr;
      if (by) by->threads_.post(self->key_.second, [self, then] { then(*self); });
    };
  }

  bool say(wire::forward_content content, std::string_view body = {}) {
    const auto by = by_.lock();
    if (by && by->send(key_, std::move(content), body)) return true;
    give_up();
    return false;
  }

  void finish() {
    answer_.live = nullptr;
    answer_.next_part = nullptr;
    answer_.body = {};
    if (!answer_.undelivered) done();
  }

  void let_go() {
    answer_ = {};
    incoming = {};
    if (const auto by = by_.lock()) by->forget(key_);
  }

  std::weak_ptr<forward_server> by_;
  key key_;
  std::function<void()> cancel_;
  response answer_;
  std::size_t sent_ = 0; ///< of `answer_.body`
  std::int64_t credit_ = static_cast<std::int64_t>(forward_window);
  bool begun_ = false, ended_ = false, received_ = false, over_ = false, waiting_ = false;
};

/// The handlers' hold on it.
class remote_exchange final : public exchange {
public:
  explicit remote_exchange(std::shared_ptr<forward_server::served> to) : to_(std::move(to)) {}
  ~remote_exchange() override {
    if (!answered_.load()) to_->answer([] { return unavailable("the request was dropped"); });
  }
  void answer(std::function<response()> render) override {
    if (!answered_.exchange(true)) to_->answer(std::move(render));
  }
  void cancellable(std::function<void()> cancel, response) override {
    to_->set_cancel(std::move(cancel));
  }

private:
  std::shared_ptr<forward_server::served> to_;
  std::atomic<bool> answered_{false};
};

namespace {

response too_busy() {
  return problem(429, "too many bytes of requests are being worked on");
}

} // namespace

// -- all of them
// -----------------------------------------------------------------------------------

forward_server::forward_server(const front_config& config,
                               std::shared_ptr<forward_transport> transport, serve local)
    : max_body_(config.max_body), bytes_(std::make_shared<budget>(config.max_in_flight_bytes)),
      transport_(std::move(transport)), local_(std::move(local)), threads_(config.threads) {}

void forward_server::take(cluster::node_id from, wire::forward_frame frame) {
  auto held = std::make_shared<wire::forward_frame>(std::move(frame));
  threads_.post(held->id, [weak = weak_from_this(), from, held] {
    if (const auto self = weak.lock()) self->obey(from, std::move(*held));
  });
}

void forward_server::obey(cluster::node_id from, wire::forward_frame frame) {
  const key k{from, frame.id};
  if (auto* head = std::get_if<wire::forward_request>(&frame.content))
    return begin(k, std::move(*head));
  const auto s = find(k);
  if (!s) return;
  if (auto* body = std::get_if<wire::forward_body>(&frame.content))
    more(s, std::move(body->bytes));
  else if (std::holds_alternative<wire::forward_cancel>(frame.content))
    s->give_up();
  else if (std::holds_alternative<wire::forward_done>(frame.content))
    s->done();
  else if (std::holds_alternative<wire::forward_received>(frame.content))
    s->received();
  else if (const auto* more = std::get_if<wire::forward_credit>(&frame.content))
    s->credit(more->bytes);
}

void forward_server::begin(const key& k, wire::forward_request head) {
  if (head.body_size > max_body_)
    return refuse(k,
                  problem(413, "the body is larger than " + std::to_string(max_body_) + " bytes"));
  const auto s = std::make_shared<served>(weak_from_this(), k);
  auto& r = s->incoming;
  r.body->share = budget_share(bytes_);
  if (!r.body->share.has_room(head.body_size)) return refuse(k, too_busy());
  r.method = std::move(head.method);
  r.content_type = std::move(head.content_type);
  r.accept = std::move(head.accept);
  r.last_event_id = std::move(head.last_event_id);
  if (!parse_target(head.target, r)) return refuse(k, problem(400, "the address is malformed"));
  s->expected = head.body_size;
  s->kind = head.interface == wire::forward_interface::xmlrpc ? front::interface::xmlrpc
                                                              : front::interface::http;
  {
    const std::lock_guard lock(mutex_);
    if (!open_.emplace(k, s).second) return; // no number is used twice
  }
  more(s, std::move(head.body));
}

void forward_server::more(const served_ptr& s, std::string bytes) {
  if (s->complete) return;
  auto& text = s->incoming.body->text;
  // Only what has arrived takes from the budget, as at a connection.
  if (!s->incoming.body->share.cover(text.size() + bytes.size())) {
    refuse(s->name(), too_busy());
    return forget(s->name());
  }
  if (text.empty())
    text = std::move(bytes);
  else
    text += bytes;
  if (text.size() < s->expected) return;
  s->complete = true;
  run(s);
}

void forward_server::run(const served_ptr& s) {
  const exchange_ptr x = std::make_shared<remote_exchange>(s);
  // Not passed on a second time: two nodes that each take the other for the active one would send
  // it to and fro.
  if (!local_(s->kind, s->incoming, x))
    answer_now(x, unavailable("this node is not the active one"));
}

void forward_server::refuse(const key& k, response no) {
  wire::forward_head head;
  head.status = static_cast<std::uint16_t>(no.status);
  head.content_type = no.content_type;
  head.headers = no.headers;
  head.last = true;
  send(k, std::move(head), no.body);
}

void forward_server::give_up(cluster::node_id from) {
  std::vector<served_ptr> lost;
  {
    const std::lock_guard lock(mutex_);
    for (auto i = open_.lower_bound({from, 0}); i != open_.end() && i->first.first == from; ++i)
      lost.push_back(i->second);
  }
  for (const auto& s : lost)
    threads_.post(s->number(), [s] { s->lose(); });
}

forward_server::served_ptr forward_server::find(const key& k) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(k);
  return found == open_.end() ? nullptr : found->second;
}

void forward_server::forget(const key& k) {
  served_ptr last; // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(k);
  if (found == open_.end()) return;
  last = std::move(found->second);
  open_.erase(found);
}

bool forward_server::send(const key& to, wire::forward_content content, std::string_view body) {
  return transport_
         && transport_->send(to.first, wire::encode({to.second, std::move(content)}, body));
}

} // namespace lycosa::gateway
